// A share is a contiguous range of rows of an edge list, so an edge's original ID in the whole list is its row in the
// share plus the first row of the share. The IDs of reverse edges follow all IDs of the list (PlaceInList). Duplicates
// are dropped after an exchange that brings all edges with the same destination to one process. At the end the
// processes add up the sizes of their shares, because later steps need the number of edges of the whole graph.
#include "services/partitioner/group/share_preprocessing.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <tuple>

#include "services/base/check.h"
#include "services/base/select_rows.h"
#include "services/format/files/json_fields.h"
#include "services/format/files/strict_json.h"
#include "services/graph/id_values.h"

namespace espalier::partitioner {
namespace {

constexpr int kPreparedDepth = 4;  // limit of the nesting of JSON

// The position of a share in the whole edge list.
struct PlaceInList {
  uint64_t first_row = 0;
  uint64_t num_rows = 0;   // of the share
  uint64_t num_edges = 0;  // of the list

  // Returns the original ID in the whole list for an ID in the share. In a share, edge i has ID i and its reverse has
  // num_rows + i; in the whole list, the reverse of edge i has num_edges + i.
  uint64_t ToOriginalId(uint64_t id) const {
    return id < num_rows ? first_row + id : num_edges + first_row + (id - num_rows);
  }
};

EdgeShare RenumberShare(graph::EdgeSet edges, const PlaceInList& place) {
  const bool is_unchanged = edges.original_ids.empty() && edges.num_edges() == place.num_rows;
  if (!is_unchanged) {
    const bool is_numbered = !edges.original_ids.empty();
    std::vector<uint64_t> ids(edges.num_edges());
    for (size_t i = 0; i < ids.size(); ++i) {
      ids[i] = place.ToOriginalId(is_numbered ? edges.original_ids.values<uint64_t>()[i] : i);
    }
    edges.original_ids = Tensor::FromVector(std::move(ids));
  }
  // num_edges includes all possible reverse edges; SumShares sets the exact number later.
  return {.edges = std::move(edges), .first_row = place.first_row, .num_edges = 2 * place.num_edges};
}

// Corrects the edge IDs in splits of reverse relations. Splits have IDs in the whole list, but Preprocess knows only
// the share: it gives the reverse of edge i the ID num_rows + i instead of num_edges + i.
void RenumberReverseSplits(const graph::GraphSchema& before, const std::map<std::string, PlaceInList>& places,
                           graph::SourceGraph& changed) {
  for (auto& [name, by_type] : changed.edge_splits) {
    for (auto& [type, split] : by_type) {
      const std::string named = changed.schema.EdgeType(EdgeTypeId(type)).Name();
      if (before.FindEdgeType(named).ok()) continue;
      const PlaceInList& place = places.at(named);
      for (graph::EdgePairs* const pairs : {&split.train, &split.validation, &split.test}) {
        pairs->edge_ids = pairs->edge_ids.Plus(place.num_edges - place.num_rows);
      }
    }
  }
}

// Returns the error of Preprocess for edges that were preprocessed before. Preprocess itself does not detect them if
// this process's share is empty.
Status CheckNotChangedBefore(const graph::SourceGraph& source) {
  for (size_t type = 0; type < source.edges.size(); ++type) {
    if (source.edges[type].original_ids.empty()) continue;
    return InvalidArgument("edge type '" + source.schema.edge_types()[type].Name() +
                           "' was preprocessed before: original edge ids would be lost");
  }
  return {};
}

// Preprocesses this process's share, except for dropping duplicates and converting features.
Result<PreprocessedShare> ChangeEachEdge(const graph::SourceGraph& source, uint32_t rank, uint32_t size,
                                         graph::PreprocessOptions options, int threads) {
  options.drop_duplicate_edges = false;
  options.features = {};
  graph::SourceGraph share{.name = source.name,
                           .schema = source.schema,
                           .nodes = source.nodes,
                           .edges = {},
                           .splits = source.splits,
                           .edge_splits = source.edge_splits};
  std::map<std::string, PlaceInList> places;  // by edge type name, including reverse relations
  for (uint16_t type = 0; type < source.edges.size(); ++type) {
    EdgeShare mine = SelectShare(source.edges[type], rank, size);
    const PlaceInList place{
        .first_row = mine.first_row, .num_rows = mine.edges.num_edges(), .num_edges = mine.num_edges};
    const graph::CanonicalEdgeType& named = source.schema.EdgeType(EdgeTypeId(type));
    places[named.Name()] = place;
    places.emplace(graph::ReverseRelation(named).Name(), place);
    share.edges.push_back(std::move(mine.edges));
  }
  PreprocessedShare changed;
  ASSIGN_OR_RETURN(changed.graph, graph::Preprocess(std::move(share), options, threads));
  RenumberReverseSplits(source.schema, places, changed.graph);
  for (uint16_t type = 0; type < changed.graph.edges.size(); ++type) {
    const auto place = places.find(changed.graph.schema.EdgeType(EdgeTypeId(type)).Name());
    ESPALIER_CHECK(place != places.end()) << "an edge type that is neither in the source nor a reverse relation";
    changed.shares.push_back(RenumberShare(std::move(changed.graph.edges[type]), place->second));
  }
  changed.graph.edges.clear();
  return changed;
}

// Returns, by node type, the rank of the process that receives the edges into each node.
partition::Assignment AssignNodesToProcesses(const graph::SourceGraph& graph, uint32_t size) {
  partition::Assignment ranges;
  for (const graph::NodeSet& nodes : graph.nodes) {
    std::vector<uint32_t>& of_type = ranges.emplace_back(nodes.count);
    for (uint32_t rank = 0; rank < size; ++rank) {
      const partition::DirectoryRange range = partition::DirectoryRangeFor(nodes.count, size, PartitionId(rank));
      std::fill(of_type.begin() + static_cast<int64_t>(range.first), of_type.begin() + static_cast<int64_t>(range.last),
                rank);
    }
  }
  return ranges;
}

// Returns the row with the smallest original ID for each pair (source, destination).
std::vector<uint64_t> FindFirstOfEachPair(const graph::EdgeSet& edges) {
  std::vector<uint64_t> rows(edges.num_edges());
  std::iota(rows.begin(), rows.end(), uint64_t{0});
  const std::span<const uint64_t> ids = edges.original_ids.values<uint64_t>();
  graph::VisitIds(edges.sources, [&](auto sources) {
    const auto destinations = edges.destinations.template values<typename decltype(sources)::value_type>();
    std::sort(rows.begin(), rows.end(), [&](uint64_t a, uint64_t b) {
      return std::tuple(destinations[a], sources[a], ids[a]) < std::tuple(destinations[b], sources[b], ids[b]);
    });
    const auto end = std::unique(rows.begin(), rows.end(), [&](uint64_t a, uint64_t b) {
      return destinations[a] == destinations[b] && sources[a] == sources[b];
    });
    rows.erase(end, rows.end());
  });
  return rows;
}

graph::EdgeSet GatherEdges(const graph::EdgeSet& edges, std::span<const uint64_t> rows) {
  graph::EdgeSet gathered;
  gathered.sources = SelectRows(edges.sources, rows);
  gathered.destinations = SelectRows(edges.destinations, rows);
  if (!edges.original_ids.empty()) gathered.original_ids = SelectRows(edges.original_ids, rows);
  for (const auto& [name, column] : edges.columns) gathered.columns[name] = SelectRows(column, rows);
  return gathered;
}

// Drops duplicate edges. Afterwards, this process's share contains the edges into its range of the nodes.
Status DropDuplicates(ProcessGroup& group, const BundlePlace& place, PreprocessedShare& changed, int threads) {
  const BundlePlace pairs{.store = place.store, .prefix = place.prefix, .folder = place.folder + "/pairs"};
  ASSIGN_OR_RETURN(const std::vector<SentEdges> sent,
                   ExchangeEdges(group, "pairs", pairs, changed.graph, changed.shares,
                                 AssignNodesToProcesses(changed.graph, group.size()),
                                 {.rank = group.rank(), .num_partitions = group.size(), .threads = threads}));
  // Frees the edges, which have been sent. Only the dtypes and row shapes of their columns are needed from here on.
  for (EdgeShare& share : changed.shares) share.edges = GatherEdges(share.edges, {});
  ASSIGN_OR_RETURN(graph::SourceGraph received,
                   ReceiveEdges(pairs, changed.graph, changed.shares, PartitionId(group.rank()), sent));
  for (size_t type = 0; type < changed.shares.size(); ++type) {
    graph::EdgeSet edges = std::move(received.edges[type]);
    const std::vector<uint64_t> kept = FindFirstOfEachPair(edges);
    changed.shares[type].edges = kept.size() == edges.num_edges() ? std::move(edges) : GatherEdges(edges, kept);
  }
  return {};
}

Result<std::vector<uint64_t>> ParseCounts(const std::string& text, size_t num_edge_types) {
  const auto parse = [&]() -> Result<std::vector<uint64_t>> {
    ASSIGN_OR_RETURN(const nlohmann::json document, format::ParseStrictJson(text, kPreparedDepth));
    ASSIGN_OR_RETURN(const format::JsonFields fields, format::JsonFields::Of(document, ""));
    ASSIGN_OR_RETURN(std::vector<uint64_t> counts, fields.UnsignedList("edges"));
    if (counts.size() == num_edge_types) return counts;
    return fields.InvalidField("edges", "expected " + std::to_string(num_edge_types) + " numbers");
  };
  Result<std::vector<uint64_t>> counts = parse();
  if (!counts.ok()) return DataLoss("a process's description of its share: " + counts.status().message());
  return counts;
}

// Sets num_edges of each share to the sum over all processes.
Status SumShares(ProcessGroup& group, std::vector<EdgeShare>& shares) {
  std::vector<uint64_t> mine;
  for (EdgeShare& share : shares) {
    mine.push_back(share.edges.num_edges());
    share.num_edges = 0;
  }
  nlohmann::ordered_json document;
  document["edges"] = mine;
  RETURN_IF_ERROR(group.Publish("preprocessed", document.dump()));
  for (uint32_t rank = 0; rank < group.size(); ++rank) {
    ASSIGN_OR_RETURN(const std::string text, group.Await(rank, "preprocessed"));
    ASSIGN_OR_RETURN(const std::vector<uint64_t> counts, ParseCounts(text, shares.size()));
    for (size_t type = 0; type < shares.size(); ++type) shares[type].num_edges += counts[type];
  }
  return {};
}

}  // namespace

bool ChangesEdges(const graph::PreprocessOptions& options) {
  return options.drop_self_loops || options.add_reverse_edges || options.drop_duplicate_edges ||
         options.held_out.has_value();
}

Result<PreprocessedShare> PreprocessShare(ProcessGroup& group, const BundlePlace& place,
                                          const graph::SourceGraph& source, const graph::PreprocessOptions& options,
                                          int threads) {
  RETURN_IF_ERROR(CheckNotChangedBefore(source));
  ASSIGN_OR_RETURN(PreprocessedShare changed, ChangeEachEdge(source, group.rank(), group.size(), options, threads));
  if (options.drop_duplicate_edges) RETURN_IF_ERROR(DropDuplicates(group, place, changed, threads));
  RETURN_IF_ERROR(SumShares(group, changed.shares));
  for (const EdgeShare& share : changed.shares) changed.graph.edges.push_back(share.edges);
  return changed;
}

}  // namespace espalier::partitioner
