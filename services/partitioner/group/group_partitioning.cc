// Each process validates its share of the rows, preprocesses its share of the edges, takes part in the cut, sends its
// edges to the partitions of their destinations, and builds the partitions with the numbers rank, rank + size, rank + 2
// * size and so on from the edges that all processes sent. Rank 0 collects the descriptions of the built partitions
// into the manifest. When a process has completed a step, it publishes a marker, a small file (process_group.h). A step
// that needs results of other processes waits for their markers; a restarted process skips the steps whose markers it
// finds.
#include "services/partitioner/group/group_partitioning.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "services/format/files/file_entry_json.h"
#include "services/format/files/json_fields.h"
#include "services/format/files/strict_json.h"
#include "services/format/partition/partition_files.h"
#include "services/partition/input_checks.h"
#include "services/partition/quality.h"
#include "services/partitioner/group/edge_exchange.h"
#include "services/partitioner/group/share_features.h"
#include "services/partitioner/group/share_preprocessing.h"
#include "services/partitioner/group/turn_cut.h"
#include "services/partitioner/partition_plan.h"
#include "services/telemetry/process_metrics.h"

namespace espalier::partitioner {
namespace {

constexpr int kBuiltDepth = 8;  // limit of the nesting of JSON
constexpr std::string_view kGroupAttempt = "attempt-group-";

// Description of a built partition, published by the process that built it.
struct BuiltPartition {
  format::PartitionEntry entry;
  partition::InEdgeQuality quality;
  uint64_t peak_memory_bytes = 0;
};

std::string ToJson(const BuiltPartition& built) {
  nlohmann::ordered_json document;
  document["graph"] = format::FileEntryToJson(built.entry.graph);
  document["node_columns"] = format::FileEntryToJson(built.entry.node_columns);
  document["edge_columns"] = format::FileEntryToJson(built.entry.edge_columns);
  document["original_edge_ids"] = format::FileEntryToJson(built.entry.original_edge_ids);
  document["edges"] = built.quality.edges;
  document["cut_edges"] = built.quality.cut_edges;
  document["remote_neighbors"] = built.quality.remote_neighbors;
  document["peak_memory_bytes"] = built.peak_memory_bytes;
  return document.dump();
}

Result<format::FileEntry> ParseFile(const format::JsonFields& fields, const char* name) {
  ASSIGN_OR_RETURN(const format::JsonFields file, fields.Object(name));
  return format::FileEntryFromJson(file);
}

Result<BuiltPartition> ParseBuilt(const std::string& text) {
  ASSIGN_OR_RETURN(const nlohmann::json document, format::ParseStrictJson(text, kBuiltDepth));
  ASSIGN_OR_RETURN(const format::JsonFields fields, format::JsonFields::Of(document, ""));
  BuiltPartition built;
  ASSIGN_OR_RETURN(built.entry.graph, ParseFile(fields, "graph"));
  ASSIGN_OR_RETURN(built.entry.node_columns, ParseFile(fields, "node_columns"));
  ASSIGN_OR_RETURN(built.entry.edge_columns, ParseFile(fields, "edge_columns"));
  ASSIGN_OR_RETURN(built.entry.original_edge_ids, ParseFile(fields, "original_edge_ids"));
  ASSIGN_OR_RETURN(built.quality.edges, fields.Unsigned("edges"));
  ASSIGN_OR_RETURN(built.quality.cut_edges, fields.Unsigned("cut_edges"));
  ASSIGN_OR_RETURN(built.quality.remote_neighbors, fields.Unsigned("remote_neighbors"));
  ASSIGN_OR_RETURN(built.peak_memory_bytes, fields.Unsigned("peak_memory_bytes"));
  return built;
}

std::string BuiltMarkerName(uint32_t partition) { return "built-" + std::to_string(partition); }

// Returns whether every array of the edge list has one row per edge, so that a range of rows can be taken from each.
bool HasMatchingLengths(const graph::EdgeSet& edges) {
  if (edges.sources.shape().size() != 1 || edges.destinations.shape() != edges.sources.shape()) return false;
  if (edges.destinations.dtype() != edges.sources.dtype()) return false;
  const Tensor& ids = edges.original_ids;
  if (!ids.empty() && (ids.dtype() != DType::kU64 || ids.shape() != edges.sources.shape())) return false;
  return std::all_of(edges.columns.begin(), edges.columns.end(), [&](const auto& column) {
    return !column.second.shape().empty() && static_cast<uint64_t>(column.second.num_rows()) == edges.num_edges();
  });
}

// Validates this process's share of the rows. If the share is invalid, validates the whole graph, because rows of a
// share are numbered from its start and the error must name the row in the source.
Status ValidateShare(const graph::SourceGraph& source, const ProcessGroup& group, const graph::LabelColumns& labels,
                     int threads) {
  graph::SourceGraph edges{.name = source.name,
                           .schema = source.schema,
                           .nodes = {},
                           .edges = {},
                           .splits = source.splits,
                           .edge_splits = source.edge_splits};
  graph::SourceGraph nodes{
      .name = source.name, .schema = {}, .nodes = {}, .edges = {}, .splits = {}, .edge_splits = {}};
  ASSIGN_OR_RETURN(nodes.schema, graph::GraphSchema::Make(source.schema.node_types(), {}));
  uint64_t num_nodes = 0;
  for (const graph::NodeSet& of_type : source.nodes) {
    edges.nodes.push_back({.count = of_type.count, .columns = {}});
    // The rows are divided evenly among the processes, as the directory is among partitions.
    const partition::DirectoryRange range =
        partition::DirectoryRangeFor(of_type.count, group.size(), PartitionId(group.rank()));
    graph::NodeSet share{.count = range.last - range.first, .columns = {}};
    for (const auto& [name, column] : of_type.columns) {
      const bool fits = !column.shape().empty() && static_cast<uint64_t>(column.num_rows()) == of_type.count;
      if (!fits) return graph::ValidateSourceGraph(source, threads, labels);
      share.columns[name] = SliceRows(column, range.first, range.last);
    }
    num_nodes += share.count;
    nodes.nodes.push_back(std::move(share));
  }
  for (const graph::EdgeSet& of_type : source.edges) {
    if (!HasMatchingLengths(of_type)) return graph::ValidateSourceGraph(source, threads, labels);
    edges.edges.push_back(SelectShare(of_type, group.rank(), group.size()).edges);
  }
  const bool good = graph::ValidateSourceGraph(edges, threads, labels).ok() &&
                    (num_nodes == 0 || graph::ValidateSourceGraph(nodes, threads, labels).ok());
  if (good) return {};
  RETURN_IF_ERROR(graph::ValidateSourceGraph(source, threads, labels));
  return Internal("this process's share of the graph is invalid, although the whole graph is valid");
}

class Worker {
 public:
  Worker(ProcessGroup& group, const BundlePlace& place, const std::string& attempt, GroupWork work)
      : group_(group), place_(place), attempt_(attempt), work_(std::move(work)) {}

  Result<std::optional<format::Manifest>> Run() {
    RETURN_IF_ERROR(work_.advance("validating", 0));
    RETURN_IF_ERROR(Validate());
    RETURN_IF_ERROR(Preprocess());
    RETURN_IF_ERROR(work_.advance("cutting", 0));
    ASSIGN_OR_RETURN(const partition::Assignment assignment, Cut());
    RETURN_IF_ERROR(partition::CheckAssignment(graph_to_cut(), assignment, work_.writer.num_partitions));
    RETURN_IF_ERROR(work_.advance("sending", 0));
    ASSIGN_OR_RETURN(
        const std::vector<SentEdges> sent,
        ExchangeEdges(group_, "sent", place_, graph_to_cut(), shares_, assignment,
                      {.rank = group_.rank(), .num_partitions = work_.writer.num_partitions, .threads = threads()}));
    ASSIGN_OR_RETURN(std::vector<partition::EdgeCounts> counts, SumCounts(place_, graph_to_cut(), shares_, sent));
    ASSIGN_OR_RETURN(const partition::PartitionLayout layout,
                     partition::MakeLayout(graph_to_cut(), assignment, work_.writer.num_partitions, std::move(counts)));
    RETURN_IF_ERROR(work_.advance("building", 0));
    format::Manifest manifest = DescribeGraph(graph_to_cut(), layout.book, attempt_, work_.writer.build);
    RETURN_IF_ERROR(Build(assignment, layout, sent, &manifest));
    if (group_.rank() != 0) return std::optional<format::Manifest>();
    RETURN_IF_ERROR(AddBuiltPartitions(assignment, &manifest));
    return std::optional(std::move(manifest));
  }

 private:
  int threads() const { return work_.writer.build.threads; }
  // Returns the preprocessed graph. shares_ contains those of its edges that are in this process's share.
  const graph::SourceGraph& graph_to_cut() const { return changed_ ? *changed_ : work_.source; }

  Status Validate() {
    RETURN_IF_ERROR(ValidateShare(work_.source, group_, work_.labels, threads()));
    RETURN_IF_ERROR(partition::CheckNodeColumns(work_.source));
    RETURN_IF_ERROR(partition::CheckSplits(work_.source));
    RETURN_IF_ERROR(partition::CheckTimeColumn(work_.source, work_.writer.build.time_column));
    RETURN_IF_ERROR(partition::CheckSourceColumns(work_.source, work_.writer.build.source_columns));
    // No process uses the endpoints of edges before all processes have validated their shares.
    RETURN_IF_ERROR(group_.Publish("valid", ""));
    for (uint32_t rank = 0; rank < group_.size(); ++rank) RETURN_IF_ERROR(group_.Await(rank, "valid").status());
    return {};
  }

  Status Preprocess() {
    const bool changes_features = work_.preprocess.features.ChangesValues();
    if (changes_features || ChangesEdges(work_.preprocess)) RETURN_IF_ERROR(work_.advance("preprocessing", 0));
    RETURN_IF_ERROR(ChangeEdges());
    ASSIGN_OR_RETURN(scales_, FindFeatureScales(group_, work_.source, work_.writer.build.source_columns,
                                                work_.preprocess, threads()));
    return {};
  }

  Status ChangeEdges() {
    if (!ChangesEdges(work_.preprocess)) {
      shares_ = SelectShares(work_.source, group_.rank(), group_.size());
      return {};
    }
    ASSIGN_OR_RETURN(PreprocessedShare changed,
                     PreprocessShare(group_, place_, work_.source, work_.preprocess, threads()));
    changed_ = std::move(changed.graph);
    shares_ = std::move(changed.shares);
    if (work_.on_preprocessed) work_.on_preprocessed(graph_to_cut());
    // Preprocessing may have added relations. Each adds an out-degree column, whose name must be free.
    RETURN_IF_ERROR(partition::CheckNodeColumns(graph_to_cut()));
    return partition::CheckSourceColumns(graph_to_cut(), work_.writer.build.source_columns);
  }

  Result<partition::Assignment> Cut() {
    const job::PartitionAlgorithm algorithm = work_.graph.partitions.algorithm;
    if (algorithm == job::PartitionAlgorithm::kStreaming) {
      return CutInTurns(group_, place_, graph_to_cut(), shares_, work_.partition);
    }
    // Random and External do not use edges, so every process computes the whole assignment.
    return MakePartitioner(algorithm, std::move(work_.assignment))->Partition(graph_to_cut(), work_.partition);
  }

  // Builds, writes and publishes the partitions of this process (top of this file), one after another.
  Status Build(const partition::Assignment& assignment, const partition::PartitionLayout& layout,
               const std::vector<SentEdges>& sent, format::Manifest* manifest) {
    for (uint32_t p = group_.rank(); p < work_.writer.num_partitions; p += group_.size()) {
      RETURN_IF_ERROR(work_.advance("building", double{1} * p / work_.writer.num_partitions));
      ASSIGN_OR_RETURN(const bool has_built, group_.HasPublished(BuiltMarkerName(p)));
      // Rank 0 needs partition 0 in memory to describe the columns, so it is built again after a restart.
      if (has_built && p != 0) continue;
      ASSIGN_OR_RETURN(const graph::SourceGraph received,
                       ReceiveEdges(place_, graph_to_cut(), shares_, PartitionId(p), sent));
      RETURN_IF_ERROR(CheckDestinations(received, assignment, PartitionId(p)));
      BuiltPartition built;
      built.quality = partition::MeasureInEdgeQuality(received, assignment, PartitionId(p), threads());
      graph::Partition made = partition::BuildPartition(received, layout, PartitionId(p), work_.writer.build);
      RETURN_IF_ERROR(
          ConvertFeatures(received, work_.writer.build.source_columns, work_.preprocess, scales_, &made, threads()));
      if (p == 0) DescribeColumns(made, manifest);
      ASSIGN_OR_RETURN(built.entry, format::WritePartition(place_.store, place_.prefix, attempt_, layout.book, made,
                                                           work_.writer.stop_requested)
                                        .While("writing partition " + std::to_string(p)));
      built.peak_memory_bytes = telemetry::PeakResidentBytes();
      RETURN_IF_ERROR(group_.Publish(BuiltMarkerName(p), ToJson(built)));
    }
    return group_.Publish("done", "");
  }

  // Waits for the partitions of all processes and adds them, their peak memory and the quality to the manifest.
  Status AddBuiltPartitions(const partition::Assignment& assignment, format::Manifest* manifest) {
    std::vector<partition::InEdgeQuality> of_partition;
    manifest->peak_memory_bytes = telemetry::PeakResidentBytes();
    for (uint32_t p = 0; p < work_.writer.num_partitions; ++p) {
      ASSIGN_OR_RETURN(const std::string text, group_.Await(p % group_.size(), BuiltMarkerName(p)));
      Result<BuiltPartition> built = ParseBuilt(text);
      if (!built.ok())
        return DataLoss("a process's description of partition " + std::to_string(p) + ": " + built.status().message());
      manifest->partitions.push_back(std::move(built->entry));
      manifest->peak_memory_bytes = std::max(manifest->peak_memory_bytes, built->peak_memory_bytes);
      of_partition.push_back(built->quality);
    }
    // The caller deletes markers and bundles after the commit, so wait until no process needs them any more. A process
    // that builds no partition may still need them when all partitions exist.
    for (uint32_t rank = 0; rank < group_.size(); ++rank) RETURN_IF_ERROR(group_.Await(rank, "done").status());
    ASSIGN_OR_RETURN(partition::Quality quality,
                     partition::MeasureQuality(graph_to_cut(), assignment, of_partition, work_.partition.train_split));
    manifest->quality = {.cut_edges = quality.cut_edges,
                         .cut_ratio = quality.cut_ratio,
                         .replication = quality.replication,
                         .balance = std::move(quality.balance)};
    return {};
  }

  ProcessGroup& group_;       // outlives this
  const BundlePlace& place_;  // outlives this
  const std::string attempt_;
  GroupWork work_;
  std::optional<graph::SourceGraph> changed_;  // set if preprocessing changes edges
  std::vector<EdgeShare> shares_;
  FeatureScales scales_;
};

}  // namespace

std::string AttemptName(const GroupOptions& group) { return std::string(kGroupAttempt) + group.name; }

bool IsGroupAttempt(std::string_view attempt) { return attempt.starts_with(kGroupAttempt); }

Status CheckOptionsForGroup(const job::Graph& graph, bool holds_edges_out) {
  const auto refuse = [](const std::string& what) { return InvalidArgument("several partitioner processes: " + what); };
  const job::Preprocess& preprocess = graph.preprocess;
  const bool changes_edges =
      preprocess.add_reverse_edges || preprocess.drop_self_loops || preprocess.drop_duplicate_edges || holds_edges_out;
  const std::vector<job::PartitionBalance>& balance = graph.partitions.balance;
  if (changes_edges && std::count(balance.begin(), balance.end(), job::PartitionBalance::kEdges) > 0) {
    return refuse("balance [Edges] requires that neither preprocessing nor the task changes the edges: omit Edges");
  }
  const job::PartitionAlgorithm algorithm = graph.partitions.algorithm;
  if (algorithm == job::PartitionAlgorithm::kMetis || algorithm == job::PartitionAlgorithm::kMultilevel) {
    return refuse("METIS and Multilevel need the whole graph: use Streaming, External or Random");
  }
  return {};
}

Result<std::optional<format::Manifest>> PartitionInGroup(ProcessGroup& group, const BundlePlace& place,
                                                         const std::string& attempt, GroupWork work) {
  return Worker(group, place, attempt, std::move(work)).Run();
}

}  // namespace espalier::partitioner
