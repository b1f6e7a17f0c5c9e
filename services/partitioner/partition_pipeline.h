// Partitions a user's graph: reads the source, assigns nodes to partitions and writes the partitions into a store.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/work_meter.h"
#include "services/format/partition/manifest.h"
#include "services/format/source/source_files.h"
#include "services/graph/preprocess.h"
#include "services/job/dist_training.h"
#include "services/partitioner/checks/graph_names.h"
#include "services/partitioner/group/process_group.h"

namespace espalier::partitioner {

// Called on the calling thread when a phase starts (`fraction` 0), progresses, and ends (1). Phases of one process:
// "digesting", "reading", "preprocessing", "cutting", "measuring", "writing". Phases of a group: "digesting",
// "reading", "validating", "preprocessing", "cutting", "sending", "building".
using PartitionProgress = std::function<void(std::string_view phase, double fraction)>;

struct PartitionPipelineOptions {
  int threads = 1;  // results do not depend on it
  // Limit in bytes of this process's memory for data that grows with the graph, without mapped files (memory_bound.h);
  // 0: no limit. With a limit, the source is mapped, and edges that do not fit are in a scratch file, 8 bytes each.
  // Results do not depend on it.
  uint64_t memory_bytes = 0;
  std::string train_split;  // the split whose training nodes TrainNodes balances; empty: all splits
  // Label columns by name, in addition to "node-label". They may lack values (graph/label_columns.h), and feature
  // normalization leaves them unchanged.
  std::vector<std::string> label_columns;
  std::vector<std::string> complete_columns = {};    // must not lack values, regardless of their names
  std::optional<graph::HeldOutEdges> held_out = {};  // edges that are excluded from message passing
  bool needs_split = true;                           // false: if held_out's split does not exist, holds out no edges
  format::TripleOptions triples;
  // How stores are accessed, and the folder for local copies of objects.
  format::SourceAccess access;
  // Set if this process is one of several that make the partitioning (group_partitioning.h). All have the same graph,
  // seed and output; each returns after the manifest is committed. Unset: this process makes it alone.
  std::optional<GroupOptions> group = {};
  // Checks whether the graph's headers have everything that the caller needs. Called before the graph is cut, and for a
  // partitioning that is reused. PartitionGraph returns its error. Null: no check.
  std::function<Status(const GraphNames& names)> check_names = nullptr;
  // Checks the values that RecordValues found in the source, or those recorded in the manifest of a partitioning that
  // is reused. Called after check_names; in a group, only rank 0 checks the source. Null: no check.
  std::function<Status(const GraphNames& names)> check_values = nullptr;
  // Returns the meter that counts the bytes of a phase: text read, neighbors visited by Streaming, or partitions
  // written. Called when the phase begins; the meter is used until the next phase begins or PartitionGraph returns.
  // Null, or a null result: bytes are not counted.
  std::function<WorkMeter*(std::string_view phase)> meter_of = nullptr;
  // Called between phases and partitions, and every 8 MiB while a partition is written. If it returns true,
  // PartitionGraph deletes the files of its attempt and returns Cancelled.
  std::function<bool()> stop_requested;
};

struct PartitionOutcome {
  std::string uri;            // <output>/<key>
  std::string partition_key;  // = manifest.partition_key
  bool reused = false;        // it existed before, or another process committed it first
  format::Manifest manifest;  // quality, seconds, peak memory and warnings are those of the run that made it
};

// Partitions graph.source as graph.partitions specifies and writes the result below `<output_uri>/<key>/`, where the
// key is a hash of everything that the result depends on (partition_key.h). An existing partitioning is returned
// unchanged (reuse: IfPresent); a source whose digest is cached is not read then. Source, assignment and output may be
// in different stores; a source that is not local is staged in access.cache. Each partition is written as soon as it is
// built, the manifest last; the files of a failed attempt are deleted. Peak memory: the source, the memory of the
// algorithm, then one partition at a time.
//
// Errors: those of the source (InvalidArgument, NotFound, OutOfRange, DataLoss) and of the stores; Cancelled; Aborted
// if the source changes during the call; with a group, those of ProcessGroup; with memory_bytes, those of
// CheckForMemory and CheckMemory, and ResourceExhausted if the disk has no room for the scratch file.
Result<PartitionOutcome> PartitionGraph(const job::Graph& graph, uint64_t seed, const std::string& output_uri,
                                        const PartitionProgress& progress, const PartitionPipelineOptions& options);

}  // namespace espalier::partitioner
