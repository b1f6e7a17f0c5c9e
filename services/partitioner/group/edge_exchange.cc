// Sending is a counting sort of the rows of each share by the owner of their destination; one bundle at a time is then
// gathered and written. Receiving allocates arrays of the final size, which the counts of all senders give, and copies
// the bundles into them in the order of ranks. Checksums of bundles detect corruption. Counts, endpoints and owners of
// destinations are checked in addition, because a process with another assignment also writes intact bundles.
#include "services/partitioner/group/edge_exchange.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>

#include "services/base/select_rows.h"
#include "services/format/files/file_entry_json.h"
#include "services/format/files/json_fields.h"
#include "services/format/files/strict_json.h"
#include "services/graph/id_values.h"

namespace espalier::partitioner {
namespace {

constexpr int kSentDepth = 8;  // limit of the nesting of JSON

Tensor GatherOriginalIds(const EdgeShare& share, std::span<const uint32_t> rows, int threads) {
  if (!share.edges.original_ids.empty()) return SelectRows(share.edges.original_ids, rows, threads);
  std::vector<uint64_t> ids;
  ids.reserve(rows.size());
  for (const uint32_t row : rows) ids.push_back(share.first_row + row);
  return Tensor::FromVector(std::move(ids));
}

// The rows of a share grouped by the owner of their destination; ascending in each group.
struct RowsByPartition {
  std::vector<uint64_t> first;  // [num_partitions + 1]
  std::vector<uint32_t> rows;

  std::span<const uint32_t> Of(uint32_t partition) const {
    return std::span(rows).subspan(first[partition], first[partition + 1] - first[partition]);
  }
};

// Groups the edges' rows by the owner of their destination. num_edges[p]: how many of the edges partition p receives.
RowsByPartition SortByPartition(const graph::EdgeSet& edges, const std::vector<uint32_t>& owner,
                                const std::vector<uint64_t>& num_edges) {
  RowsByPartition sorted{.first = std::vector<uint64_t>(num_edges.size() + 1, 0),
                         .rows = std::vector<uint32_t>(edges.num_edges())};
  for (size_t p = 0; p < num_edges.size(); ++p) sorted.first[p + 1] = sorted.first[p] + num_edges[p];
  std::vector<uint64_t> next(sorted.first.begin(), sorted.first.end() - 1);
  graph::VisitIds(edges.destinations, [&](auto destinations) {
    for (size_t row = 0; row < destinations.size(); ++row) {
      sorted.rows[next[owner[static_cast<size_t>(destinations[row])]]++] = static_cast<uint32_t>(row);
    }
  });
  return sorted;
}

// Return the names of tensors in bundles.
std::string TensorName(const char* what, const graph::GraphSchema& schema, size_t type) {
  return std::string(what) + "/" + schema.edge_types()[type].Name();
}
std::string ColumnTensorName(const graph::GraphSchema& schema, size_t type, const std::string& column) {
  return TensorName("columns", schema, type) + "/" + column;
}

// Returns the number with leading zeros, at least five digits.
std::string PadNumber(uint32_t number) {
  std::string digits = std::to_string(number);
  return std::string(digits.size() < 5 ? 5 - digits.size() : 0, '0') + digits;
}

nlohmann::ordered_json ToJson(const std::vector<format::FileEntry>& files) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const format::FileEntry& file : files) list.push_back(format::FileEntryToJson(file));
  return list;
}

// Copies the rows of `from` over those rows of `all` that begin with row `at`.
void CopyRows(const Tensor& from, uint64_t at, Tensor* all) {
  if (from.empty()) return;
  std::memcpy(all->mutable_bytes() + at * all->row_bytes(), from.bytes(), from.size_bytes());
}

// Returns zeros with the dtype and row shape of `like`.
Tensor MakeZeros(const Tensor& like, uint64_t num_rows) {
  std::vector<int64_t> shape = like.shape();
  shape[0] = static_cast<int64_t>(num_rows);
  return Tensor::Zeros(like.dtype(), std::move(shape));
}

// Collects the edges of one type of a partition from bundles.
class Arrivals {
 public:
  Arrivals(const graph::SourceGraph& graph, uint16_t type, const graph::EdgeSet& like, uint64_t num_edges)
      : schema_(graph.schema),
        type_(type),
        num_sources_(graph.nodes_of(graph.schema.SourceOf(EdgeTypeId(type))).count),
        num_destinations_(graph.nodes_of(graph.schema.DestinationOf(EdgeTypeId(type))).count) {
    edges_.sources = MakeZeros(like.sources, num_edges);
    edges_.destinations = MakeZeros(like.destinations, num_edges);
    edges_.original_ids = Tensor::Zeros(DType::kU64, {static_cast<int64_t>(num_edges)});
    for (const auto& [name, column] : like.columns) edges_.columns[name] = MakeZeros(column, num_edges);
  }

  Status Add(const TensorBundle& bundle, const format::FileEntry& entry, uint64_t num_edges) {
    RETURN_IF_ERROR(AddTo(&edges_.sources, bundle, entry, TensorName("sources", schema_, type_), num_edges));
    RETURN_IF_ERROR(AddTo(&edges_.destinations, bundle, entry, TensorName("destinations", schema_, type_), num_edges));
    RETURN_IF_ERROR(CheckArrived(edges_.sources, num_edges, num_sources_, entry));
    RETURN_IF_ERROR(CheckArrived(edges_.destinations, num_edges, num_destinations_, entry));
    RETURN_IF_ERROR(AddTo(&edges_.original_ids, bundle, entry, TensorName("original_ids", schema_, type_), num_edges));
    for (auto& [name, column] : edges_.columns) {
      RETURN_IF_ERROR(AddTo(&column, bundle, entry, ColumnTensorName(schema_, type_, name), num_edges));
    }
    arrived_ += num_edges;
    return {};
  }

  graph::EdgeSet Take() && { return std::move(edges_); }

 private:
  Status AddTo(Tensor* all, const TensorBundle& bundle, const format::FileEntry& entry, const std::string& name,
               uint64_t num_edges) {
    std::vector<int64_t> shape = all->shape();
    shape[0] = static_cast<int64_t>(num_edges);
    ASSIGN_OR_RETURN(const Tensor part, TakeTensor(bundle, entry, name, all->dtype(), shape));
    CopyRows(part, arrived_, all);
    return {};
  }

  // Checks the endpoints of the `num_edges` edges that were copied last: their nodes must exist. Checksums show only
  // that a bundle is intact, not that its content is valid.
  Status CheckArrived(const Tensor& endpoints, uint64_t num_edges, uint64_t num_nodes,
                      const format::FileEntry& entry) const {
    const bool all_exist = graph::VisitIds(endpoints, [&](auto ids) {
      const auto arrived = ids.subspan(arrived_, num_edges);
      // A negative ID converts to a number that is larger than any node count.
      return std::all_of(arrived.begin(), arrived.end(),
                         [num_nodes](auto id) { return static_cast<uint64_t>(static_cast<int64_t>(id)) < num_nodes; });
    });
    if (all_exist) return {};
    return DataLoss(entry.key + ": edge type '" + schema_.edge_types()[type_].Name() +
                    "' has an edge whose source or destination does not exist");
  }

  const graph::GraphSchema& schema_;  // outlives this
  const size_t type_;
  const uint64_t num_sources_, num_destinations_;
  graph::EdgeSet edges_;
  uint64_t arrived_ = 0;
};

template <class D>
void AddUp(const Tensor& part, Tensor* sum) {
  const std::span<const D> from = part.values<D>();
  const std::span<D> to = sum->mutable_values<D>();
  for (size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

// Returns DataLoss unless the partitions' edge counts add up to `expected`, the number of edges of the type. No other
// check detects processes that have divided the edge list in different ways.
Status CheckNumSent(const graph::SourceGraph& graph, EdgeTypeId type, uint64_t expected,
                    std::span<const uint64_t> num_edges) {
  const uint64_t sent = std::accumulate(num_edges.begin(), num_edges.end(), uint64_t{0});
  if (sent == expected) return {};
  return DataLoss("edge type '" + graph.schema.EdgeType(type).Name() + "': the processes have sent " +
                  std::to_string(sent) + " edges, expected " + std::to_string(expected));
}

Result<SentEdges> ParseSentEdges(const std::string& text, size_t num_edge_types, uint32_t num_partitions) {
  ASSIGN_OR_RETURN(const nlohmann::json document, format::ParseStrictJson(text, kSentDepth));
  ASSIGN_OR_RETURN(const format::JsonFields fields, format::JsonFields::Of(document, ""));
  SentEdges sent;
  ASSIGN_OR_RETURN(sent.max_original_id, fields.UnsignedList("max_original_id"));
  RETURN_IF_ERROR(fields.ForEach("of_partition", [&](const nlohmann::json& element, const std::string& path) -> Status {
    ASSIGN_OR_RETURN(const format::JsonFields type, format::JsonFields::Of(element, path));
    ASSIGN_OR_RETURN(std::vector<uint64_t> edges, type.UnsignedList("edges"));
    if (edges.size() != num_partitions) return type.InvalidField("edges", "expected one number for each partition");
    sent.of_partition.push_back(std::move(edges));
    return {};
  }));
  RETURN_IF_ERROR(fields.ForEach("files", [&](const nlohmann::json& element, const std::string& path) -> Status {
    ASSIGN_OR_RETURN(const format::JsonFields file, format::JsonFields::Of(element, path));
    ASSIGN_OR_RETURN(format::FileEntry entry, format::FileEntryFromJson(file));
    sent.edges.push_back(std::move(entry));
    return {};
  }));
  ASSIGN_OR_RETURN(const format::JsonFields out_degrees, fields.Object("out_degrees"));
  ASSIGN_OR_RETURN(sent.out_degrees, format::FileEntryFromJson(out_degrees));
  if (sent.max_original_id.size() != num_edge_types || sent.of_partition.size() != num_edge_types) {
    return InvalidArgument("expected " + std::to_string(num_edge_types) + " edge types");
  }
  if (sent.edges.size() != num_partitions) return fields.InvalidField("files", "expected one for each partition");
  return sent;
}

}  // namespace

Tensor SliceRows(const Tensor& column, uint64_t first, uint64_t last) {
  std::vector<int64_t> shape = column.shape();
  shape[0] = static_cast<int64_t>(last - first);
  return Tensor::Wrap(column.dtype(), std::move(shape), column.bytes() + first * column.row_bytes(),
                      std::make_shared<Tensor>(column));
}

EdgeShare SelectShare(const graph::EdgeSet& edges, uint32_t rank, uint32_t size) {
  const partition::DirectoryRange range = partition::DirectoryRangeFor(edges.num_edges(), size, PartitionId(rank));
  EdgeShare share{.edges = {}, .first_row = range.first, .num_edges = edges.num_edges()};
  share.edges.sources = SliceRows(edges.sources, range.first, range.last);
  share.edges.destinations = SliceRows(edges.destinations, range.first, range.last);
  if (!edges.original_ids.empty()) share.edges.original_ids = SliceRows(edges.original_ids, range.first, range.last);
  for (const auto& [name, column] : edges.columns)
    share.edges.columns[name] = SliceRows(column, range.first, range.last);
  return share;
}

std::vector<EdgeShare> SelectShares(const graph::SourceGraph& source, uint32_t rank, uint32_t size) {
  std::vector<EdgeShare> shares;
  for (const graph::EdgeSet& edges : source.edges) shares.push_back(SelectShare(edges, rank, size));
  return shares;
}

std::string ToJson(const SentEdges& sent) {
  nlohmann::ordered_json types = nlohmann::ordered_json::array();
  for (const std::vector<uint64_t>& edges : sent.of_partition) {
    nlohmann::ordered_json type;
    type["edges"] = edges;
    types.push_back(std::move(type));
  }
  nlohmann::ordered_json document;
  document["max_original_id"] = sent.max_original_id;
  document["of_partition"] = std::move(types);
  document["out_degrees"] = format::FileEntryToJson(sent.out_degrees);
  document["files"] = ToJson(sent.edges);
  return document.dump();
}

Result<SentEdges> SentEdgesFromJson(const std::string& json, size_t num_edge_types, uint32_t num_partitions) {
  Result<SentEdges> sent = ParseSentEdges(json, num_edge_types, num_partitions);
  if (!sent.ok()) return DataLoss("a process's description of the edges that it sent: " + sent.status().message());
  return sent;
}

Result<SentEdges> SendEdges(const BundlePlace& place, const graph::SourceGraph& graph,
                            const std::vector<EdgeShare>& shares, const partition::Assignment& assignment,
                            const ExchangeOptions& options) {
  SentEdges sent;
  std::vector<RowsByPartition> rows;
  TensorBundle out_degrees;
  for (uint16_t type = 0; type < shares.size(); ++type) {
    const EdgeShare& share = shares[type];
    if (share.edges.num_edges() >= uint64_t{1} << 32) {
      return InvalidArgument("edge type '" + graph.schema.edge_types()[type].Name() +
                             "': each process would read 2^32 edges or more: use more processes");
    }
    const std::vector<uint32_t>& owner = assignment[graph.schema.DestinationOf(EdgeTypeId(type)).value];
    partition::EdgeCounts counts =
        partition::CountEdges(share.edges, owner,
                              {.num_partitions = options.num_partitions,
                               .num_source_nodes = graph.nodes_of(graph.schema.SourceOf(EdgeTypeId(type))).count,
                               .out_degree = partition::OutDegreeDType(share.num_edges),
                               .first_row = share.first_row,
                               .threads = options.threads});
    rows.push_back(SortByPartition(share.edges, owner, counts.of_partition));
    out_degrees[TensorName("out_degree", graph.schema, type)] = std::move(counts.out_degree);
    sent.of_partition.push_back(std::move(counts.of_partition));
    sent.max_original_id.push_back(counts.max_original_id);
  }
  const std::string from = "from-" + PadNumber(options.rank);
  ASSIGN_OR_RETURN(sent.out_degrees, WriteBundle(place, "out-degrees-" + from, std::exchange(out_degrees, {})));
  for (uint32_t p = 0; p < options.num_partitions; ++p) {
    TensorBundle bundle;
    for (size_t type = 0; type < shares.size(); ++type) {
      const std::span<const uint32_t> chosen = rows[type].Of(p);
      const graph::EdgeSet& edges = shares[type].edges;
      bundle[TensorName("sources", graph.schema, type)] = SelectRows(edges.sources, chosen, options.threads);
      bundle[TensorName("destinations", graph.schema, type)] = SelectRows(edges.destinations, chosen, options.threads);
      bundle[TensorName("original_ids", graph.schema, type)] = GatherOriginalIds(shares[type], chosen, options.threads);
      for (const auto& [name, column] : edges.columns) {
        bundle[ColumnTensorName(graph.schema, type, name)] = SelectRows(column, chosen, options.threads);
      }
    }
    ASSIGN_OR_RETURN(format::FileEntry entry,
                     WriteBundle(place, "edges-" + from + "-to-" + PadNumber(p), std::move(bundle)));
    sent.edges.push_back(std::move(entry));
  }
  return sent;
}

Result<std::vector<SentEdges>> ExchangeEdges(ProcessGroup& group, const std::string& marker, const BundlePlace& place,
                                             const graph::SourceGraph& graph, const std::vector<EdgeShare>& shares,
                                             const partition::Assignment& assignment, const ExchangeOptions& options) {
  ASSIGN_OR_RETURN(const bool has_sent, group.HasPublished(marker));
  if (!has_sent) {
    ASSIGN_OR_RETURN(const SentEdges mine, SendEdges(place, graph, shares, assignment, options));
    RETURN_IF_ERROR(group.Publish(marker, ToJson(mine)));
  }
  std::vector<SentEdges> all;
  for (uint32_t rank = 0; rank < group.size(); ++rank) {
    ASSIGN_OR_RETURN(const std::string text, group.Await(rank, marker));
    ASSIGN_OR_RETURN(SentEdges sent, SentEdgesFromJson(text, shares.size(), options.num_partitions));
    all.push_back(std::move(sent));
  }
  return all;
}

Result<std::vector<partition::EdgeCounts>> SumCounts(const BundlePlace& place, const graph::SourceGraph& graph,
                                                     const std::vector<EdgeShare>& shares,
                                                     const std::vector<SentEdges>& sent) {
  std::vector<partition::EdgeCounts> counts(shares.size());
  for (uint16_t type = 0; type < counts.size(); ++type) {
    const auto num_sources = static_cast<int64_t>(graph.nodes_of(graph.schema.SourceOf(EdgeTypeId(type))).count);
    counts[type].out_degree = Tensor::Zeros(partition::OutDegreeDType(shares[type].num_edges), {num_sources});
    counts[type].of_partition.assign(sent.front().edges.size(), 0);
    for (const SentEdges& part : sent) {
      counts[type].max_original_id = std::max(counts[type].max_original_id, part.max_original_id[type]);
      for (size_t p = 0; p < part.of_partition[type].size(); ++p) {
        counts[type].of_partition[p] += part.of_partition[type][p];
      }
    }
    RETURN_IF_ERROR(CheckNumSent(graph, EdgeTypeId(type), shares[type].num_edges, counts[type].of_partition));
  }
  for (const SentEdges& part : sent) {
    ASSIGN_OR_RETURN(const TensorBundle bundle, ReadBundle(place, part.out_degrees));
    for (size_t type = 0; type < counts.size(); ++type) {
      Tensor& sum = counts[type].out_degree;
      ASSIGN_OR_RETURN(
          const Tensor degrees,
          TakeTensor(bundle, part.out_degrees, TensorName("out_degree", graph.schema, type), sum.dtype(), sum.shape()));
      if (sum.dtype() == DType::kU32) {
        AddUp<uint32_t>(degrees, &sum);
      } else {
        AddUp<uint64_t>(degrees, &sum);
      }
    }
  }
  return counts;
}

Result<graph::SourceGraph> ReceiveEdges(const BundlePlace& place, const graph::SourceGraph& graph,
                                        const std::vector<EdgeShare>& shares, PartitionId partition,
                                        const std::vector<SentEdges>& sent) {
  std::vector<Arrivals> arrivals;
  for (uint16_t type = 0; type < shares.size(); ++type) {
    uint64_t num_edges = 0;
    for (const SentEdges& part : sent) num_edges += part.of_partition[type][partition.value];
    arrivals.emplace_back(graph, type, shares[type].edges, num_edges);
  }
  for (const SentEdges& part : sent) {
    const format::FileEntry& entry = part.edges[partition.value];
    ASSIGN_OR_RETURN(const TensorBundle bundle, ReadBundle(place, entry));
    for (size_t type = 0; type < arrivals.size(); ++type) {
      RETURN_IF_ERROR(arrivals[type].Add(bundle, entry, part.of_partition[type][partition.value]));
    }
  }
  graph::SourceGraph received{.name = graph.name,
                              .schema = graph.schema,
                              .nodes = graph.nodes,
                              .edges = {},
                              .splits = graph.splits,
                              .edge_splits = graph.edge_splits};
  for (Arrivals& of_type : arrivals) received.edges.push_back(std::move(of_type).Take());
  return received;
}

Status CheckDestinations(const graph::SourceGraph& received, const partition::Assignment& assignment,
                         PartitionId partition) {
  for (uint16_t type = 0; type < received.edges.size(); ++type) {
    const std::vector<uint32_t>& owner = assignment[received.schema.DestinationOf(EdgeTypeId(type)).value];
    const bool all_owned = graph::VisitIds(received.edges[type].destinations, [&](auto destinations) {
      return std::all_of(destinations.begin(), destinations.end(),
                         [&](auto node) { return owner[static_cast<size_t>(node)] == partition.value; });
    });
    if (all_owned) continue;
    return DataLoss("edge type '" + received.schema.edge_types()[type].Name() + "': partition " +
                    std::to_string(partition.value) + " received an edge whose destination another partition owns");
  }
  return {};
}

}  // namespace espalier::partitioner
