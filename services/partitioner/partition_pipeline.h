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
#include "services/partitioner/checks/graph_metadata.h"
#include "services/partitioner/group/process_group.h"

namespace espalier::partitioner {

// Called on the thread that calls PartitionGraph, when a phase starts (`fraction` 0), progresses, and ends (1). Phases
// of one process: "digesting", "reading", "preprocessing", "cutting", "measuring", "writing". Phases of a group:
// "digesting", "reading", "validating", "preprocessing", "cutting", "sending", "building".
using PartitionProgress = std::function<void(std::string_view phase, double fraction)>;

struct PartitionPipelineOptions {
  int threads = 1;  // number of threads; results do not depend on it
  // Limit in bytes of this process's memory for data that grows with the graph, not counting mapped files
  // (memory_bound.h); 0: no limit. With a limit, the source is mapped. If the neighbors that the algorithm Streaming
  // reads might then not fit, they are in a scratch file of 8 bytes per edge of the graph. Results do not depend on the
  // limit.
  uint64_t memory_bytes = 0;
  // The split whose training nodes are balanced if partitions.balance contains TrainNodes; empty: all splits.
  std::string train_split;
  // Label columns by name, in addition to "node-label". They may lack values (graph/label_columns.h), and feature
  // normalization leaves them unchanged.
  std::vector<std::string> label_columns;
  // Columns that must not lack values, even if they are named like labels (graph/label_columns.h).
  std::vector<std::string> complete_columns = {};
  std::optional<graph::HeldOutEdges> held_out = {};  // edges that are excluded from message passing
  // Whether held_out's split must exist. If false and the split does not exist, no edges are held out.
  bool needs_split = true;
  format::TripleOptions triples;
  // Opens stores, and names the folder for local copies of objects.
  format::SourceAccess access;
  // Set if this process is one of several that make the partitioning (group_partitioning.h). All these processes must
  // have the same graph, seed and output; each of them returns after the manifest is committed. Unset: there is one
  // process.
  std::optional<GroupOptions> group = {};
  // Checks whether the graph has the types, columns and splits that the caller needs. Called before the graph is cut,
  // and for a partitioning that is reused. PartitionGraph returns its error. Null: no check.
  std::function<Status(const GraphMetadata& metadata)> check_names = nullptr;
  // Checks the values that RecordValues (checks/value_facts.h) found in the source, or those recorded in the manifest
  // of a partitioning that is reused. Called after check_names; in a group, only rank 0 checks the source. Null: no
  // check.
  std::function<Status(const GraphMetadata& metadata)> check_values = nullptr;
  // Returns the meter that counts the bytes of a phase: text that is read, neighbors that the algorithm Streaming
  // reads, or partitions that are written. Called when the phase begins; the meter is used until the next phase begins
  // or PartitionGraph returns. If this function or its result is null, bytes are not counted.
  std::function<WorkMeter*(std::string_view phase)> get_meter = nullptr;
  // Called between phases and partitions, every 8 MiB while a partition is written, and while a process of a group
  // waits for another. If it returns true, PartitionGraph returns Cancelled; a single process also deletes the files of
  // its attempt, a process of a group keeps them so that it can resume. May be null.
  std::function<bool()> stop_requested;
};

struct PartitionOutcome {
  std::string uri;            // <output>/<key>
  std::string partition_key;  // equals manifest.partition_key
  bool reused = false;        // the partitioning existed before, or another attempt committed it first
  format::Manifest manifest;  // quality, seconds, peak memory and warnings are from the run that made the partitioning
};

// Partitions graph.source as graph.partitions specifies and writes the result below `<output_uri>/<key>/`, where the
// key is a hash of everything that the result depends on (partition_key.h). Unless graph.partitions.reuse is kNever, an
// existing partitioning is returned unchanged, without reading the source if the source's digest is cached. The source,
// graph.partitions.assignment_uri and the output may be in different stores; a source that is not local is copied to
// access.cache. Each partition is written as soon as it is built, and the manifest is written last; the files of a
// failed attempt of a single process are deleted. Peak memory of a single process without memory_bytes: the source, and
// the memory of the algorithm or one partition, whichever is larger.
//
// Errors: those of the source (InvalidArgument, NotFound, OutOfRange, DataLoss) and of the stores; Cancelled; Aborted
// if the source changes during the call; with a group, those of ProcessGroup; with memory_bytes, those of
// CheckOptionsForMemoryLimit and CheckMemorySuffices (memory_bound.h), and ResourceExhausted if the disk has no room
// for the scratch file.
Result<PartitionOutcome> PartitionGraph(const job::Graph& graph, uint64_t seed, const std::string& output_uri,
                                        const PartitionProgress& progress, const PartitionPipelineOptions& options);

}  // namespace espalier::partitioner
