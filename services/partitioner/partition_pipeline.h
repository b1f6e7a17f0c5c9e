// A graph as its user has it -> partitions in a store.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/work_meter.h"
#include "services/format/manifest.h"
#include "services/format/source/source_files.h"
#include "services/graph/preprocess.h"
#include "services/job/dist_training.h"
#include "services/partitioner/checks/graph_names.h"
#include "services/partitioner/group/process_group.h"

namespace espalier::partitioner {

// Called on the calling thread when a phase ("digesting", "reading", "preprocessing", "cutting", "measuring",
// "writing") starts (0), gets on, and ends (1).
using PartitionProgress = std::function<void(std::string_view phase, double fraction)>;

struct PartitionPipelineOptions {
  int threads = 1;          // results do not depend on it
  std::string train_split;  // whose training nodes TrainNodes balances; empty: every split's
  // Labels by name: they may lack values (graph/label_columns.h), and feature normalisation leaves them as they are,
  // next to "node-label".
  std::vector<std::string> label_columns;
  std::vector<std::string> complete_columns = {};    // may lack no values, whatever their names are: features, weights
  std::optional<graph::HeldOutEdges> held_out = {};  // edges kept out of message passing
  bool needs_split = true;                           // false: of a graph without held_out's split nothing is held out
  format::TripleOptions triples;
  // How stores are reached, and where what lies in them is copied to be read.
  format::SourceAccess access;
  // This process is one of several that make the partitioning (group_partitioning.h). All have the same graph, seed and
  // output; each ends when the manifest stands. None: one process makes it.
  std::optional<GroupOptions> group = {};
  // Whether the graph's headers have what the caller needs; called before the graph is cut, and for a partitioning that
  // is reused. An error ends the work with it. Null: nothing is checked.
  std::function<Status(const GraphNames& names)> check_names = nullptr;
  // The same for the values, as RecordValues has found them in a source that has been read, where rank 0 of a group calls
  // it, or as the manifest of a partitioning that is reused has them.
  std::function<Status(const GraphNames& names)> check_values = nullptr;
  // Asked where a phase begins: what counts its bytes, as far as they are known (read of text, passed by Streaming,
  // written), until the next begins or the work ends. None, or null: nobody counts.
  std::function<WorkMeter*(std::string_view phase)> meter_of = nullptr;
  // Asked between phases and partitions, and every 8 MiB while one is written: true ends the work as Cancelled, with
  // nothing left behind.
  std::function<bool()> stop_requested;
};

struct PartitionOutcome {
  std::string uri;            // <output>/<key>
  std::string partition_key;  // = manifest.partition_key
  bool reused = false;        // it was there already, or another process was faster
  format::Manifest manifest;  // quality, seconds, peak memory and warnings as of when it was made
};

// Partitions graph.source as graph.partitions says into `<output_uri>/<key>/`, where the key is a hash of everything
// that the result depends on; what is there already is taken as it is (reuse: IfPresent), without a look into a source
// whose digest is known. Source, assignment and output may lie in different stores; a source that is not local is
// staged in access.cache. Each partition is written into the store as it is built, the manifest last; files of a try
// that fails are deleted. Peak memory: the source, what the algorithm needs, then one partition at a time.
// Errors: of the source (InvalidArgument, NotFound, OutOfRange, DataLoss), of the stores, Cancelled.
Result<PartitionOutcome> PartitionGraph(const job::Graph& graph, uint64_t seed, const std::string& output_uri,
                                        const PartitionProgress& progress, const PartitionPipelineOptions& options);

}  // namespace espalier::partitioner
