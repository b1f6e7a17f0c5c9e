// One partitioning by several processes: the work of each process after the source is mapped and before the manifest is
// committed.
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

// Returns the name of a group's attempt (partition_attempt.h). The files of the group are below
// `<prefix>/<AttemptName(group)>/`.
std::string AttemptName(const GroupOptions& group);
// Returns whether `attempt` is the name of an attempt of a group.
bool IsGroupAttempt(std::string_view attempt);

// Returns InvalidArgument if the document requires something that only a single process supports: METIS, Multilevel, or
// `balance: [Edges]` if preprocessing or held-out edges (`holds_edges_out`) change the edges of the graph.
Status CheckOptionsForGroup(const job::Graph& graph, bool holds_edges_out);

// The input of one process.
struct GroupWork {
  const job::Graph& graph;           // outlives this
  const graph::SourceGraph& source;  // the result of MapSourceGraph, not validated; outlives this
  graph::LabelColumns labels;        // the columns of the source that may lack values
  graph::PreprocessOptions preprocess;
  partition::PartitionOptions partition;
  PartitionWriterOptions writer;
  // The user's assignment by node type, for External.
  std::vector<Tensor> assignment;
  // Called at the start of the phases "validating", "preprocessing" (only if there is work to do), "cutting", "sending"
  // and "building", and before each partition that is built. `fraction` is the completed part of the phase.
  // PartitionInGroup returns the error of this function.
  std::function<Status(std::string_view phase, double fraction)> advance;
  // If preprocessing changes edges, called with the preprocessed graph, which has only this process's share of the
  // edges. May be null.
  std::function<void(const graph::SourceGraph& changed)> on_preprocessed = nullptr;
};

// Does the work of this process. On rank 0, returns the manifest for the caller to complete (key, algorithm, seed,
// seconds) and commit; on other ranks, returns nullopt. The partitions are byte-identical to those of a single process.
// Memory: the current partition, a range of each edge list, and some numbers per node (docs/operations/sizing.md).
Result<std::optional<format::Manifest>> PartitionInGroup(ProcessGroup& group, const BundlePlace& place,
                                                         const std::string& attempt, GroupWork work);

}  // namespace espalier::partitioner
