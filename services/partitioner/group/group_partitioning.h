// One partitioning by several processes: what each of them does between the source and the manifest.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "services/graph/preprocess.h"
#include "services/job/dist_training.h"
#include "services/partitioner/group/process_group.h"
#include "services/partitioner/group/tensor_bundle.h"
#include "services/partitioner/partition_writer.h"

namespace espalier::partitioner {

// The files of a group lie below `<prefix>/<AttemptName(group)>/`.
std::string AttemptName(const GroupOptions& group);
// Whether several processes made this try.
bool IsOfGroup(std::string_view attempt);

// InvalidArgument where several processes cannot do what the document asks for: edges are to be changed and balanced
// too, or METIS is to cut the graph.
Status CheckForGroup(const job::Graph& graph, bool holds_edges_out);

struct GroupWork {
  const job::Graph& graph;           // outlives this
  const graph::SourceGraph& source;  // as MapSourceGraph maps it, not validated; outlives this
  graph::LabelColumns labels;        // of the source: which columns may lack values
  graph::PreprocessOptions preprocess;
  partition::PartitionOptions partition;
  PartitionWriterOptions writer;
  // Given assignments, for External; by node type.
  std::vector<Tensor> assignment;
  // Called at the start of "validating", "preprocessing" where there is something to do, "cutting", "sending" and
  // "building", and with each partition.
  std::function<Status(std::string_view phase, double fraction)> advance;
  // Called with the changed graph, of whose edges this process has a share; may be null.
  std::function<void(const graph::SourceGraph& changed)> preprocessed = nullptr;
};

// This process's share. Rank 0 answers with the manifest that is to be committed, without key, algorithm, seed and
// seconds; the others with nothing. Bytes are those that one process writes. Memory: the partition at hand, a range of
// each edge list in use, and some numbers for each node (docs/operations/sizing.md).
Result<std::optional<format::Manifest>> PartitionInGroup(ProcessGroup& group, const BundlePlace& place,
                                                         const std::string& attempt, GroupWork work);

}  // namespace espalier::partitioner
