// Columns and edge endpoints are checked in parallel, splits by one thread. The lowest violating index is reported, so
// the message does not depend on the number of threads.
#include "services/graph/source_graph.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>

#include "services/base/parallel.h"
#include "services/base/pluralize.h"
#include "services/graph/first_violation.h"
#include "services/graph/id_values.h"

namespace espalier::graph {
namespace {

Status CheckEdgeEnds(const Tensor& ids, uint64_t num_nodes, const std::string& where, int threads) {
  const auto check = [&]<class T>(T) {
    const std::span<const T> values = ids.values<T>();
    return FirstViolation(threads, ids.num_rows(), kCheapGrain, [&](int64_t i) {
      const T id = values[static_cast<size_t>(i)];
      // A negative ID becomes a huge number and fails the same test.
      return static_cast<uint64_t>(static_cast<int64_t>(id)) >= num_nodes;
    });
  };
  std::optional<int64_t> bad;
  switch (ids.dtype()) {
    case DType::kU32: bad = check(uint32_t{}); break;
    case DType::kI32: bad = check(int32_t{}); break;
    case DType::kI64: bad = check(int64_t{}); break;
    case DType::kU64: bad = check(uint64_t{}); break;
    default: return InvalidArgument(where + " are " + ids.ToString() + ": expected U32, I32, I64 or U64");
  }
  if (!bad) return {};
  return OutOfRange(where + "[" + std::to_string(*bad) + "] is " + std::to_string(ids.ValueAsInt(*bad)) + ": " +
                    DescribeIdRange(num_nodes));
}

enum class MissingValues { kRefused, kAllowed };

// The exponent bits of NaN and infinity are all 1. NaN also has a fraction that is not 0.
template <class Bits, int kExponentShift, Bits kExponentMask>
std::optional<int64_t> FirstNotFinite(const Tensor& column, MissingValues missing, int threads) {
  const std::byte* bytes = column.bytes();
  constexpr Bits kFractionMask = (Bits{1} << kExponentShift) - 1;
  return FirstViolation(threads, column.num_elements(), kCheapGrain, [bytes, missing](int64_t i) {
    Bits bits;
    std::memcpy(&bits, bytes + static_cast<size_t>(i) * sizeof(Bits), sizeof(Bits));
    if (((bits >> kExponentShift) & kExponentMask) != kExponentMask) return false;
    return missing == MissingValues::kRefused || (bits & kFractionMask) == 0;
  });
}

// "<where> row 3, at index 0, is ": the index is that of the value in the row.
std::string FormatElement(const Tensor& column, const std::string& where, int64_t element) {
  const int64_t row_elements = column.num_elements() / column.num_rows();
  return where + " row " + std::to_string(element / row_elements) + ", at index " +
         std::to_string(element % row_elements) + ", is ";
}

Status CheckFinite(const Tensor& column, MissingValues missing, const std::string& where, int threads) {
  std::optional<int64_t> bad;
  if (column.dtype() == DType::kF16) bad = FirstNotFinite<uint16_t, 10, 0x1F>(column, missing, threads);
  if (column.dtype() == DType::kBF16) bad = FirstNotFinite<uint16_t, 7, 0xFF>(column, missing, threads);
  if (column.dtype() == DType::kF32) bad = FirstNotFinite<uint32_t, 23, 0xFF>(column, missing, threads);
  if (column.dtype() == DType::kF64) bad = FirstNotFinite<uint64_t, 52, 0x7FF>(column, missing, threads);
  if (!bad) return {};
  const double value = column.ValueAsDouble(*bad);
  const std::string element = FormatElement(column, where, *bad);
  if (value == value) return InvalidArgument(element + "infinite: expected finite numbers");
  return InvalidArgument(element + "NaN: expected finite numbers; " + kOnlyLabelsLackValues);
}

// Checks that BOOL elements are 0 or 1. Reading another byte as a bool is undefined behavior, and loaders of partitions
// reject it.
Status CheckBools(const Tensor& column, const std::string& where, int threads) {
  if (column.dtype() != DType::kBool) return {};
  const std::byte* bytes = column.bytes();
  const auto byte_at = [bytes](int64_t i) { return static_cast<unsigned>(bytes[i]); };
  const std::optional<int64_t> bad =
      FirstViolation(threads, column.num_elements(), kCheapGrain, [&](int64_t i) { return byte_at(i) > 1; });
  if (!bad) return {};
  return InvalidArgument(FormatElement(column, where, *bad) + std::to_string(byte_at(*bad)) +
                         ": expected 0 or 1, because the column is BOOL");
}

Status CheckColumns(const std::map<std::string, Tensor>& columns, uint64_t num_rows, const LabelColumns& labels,
                    const std::string& where, int threads) {
  for (const auto& [name, column] : columns) {
    RETURN_IF_ERROR(CheckName("column", name).While(where));
    const std::string what = where + ", column '" + name + "'";
    if (column.shape().empty() || static_cast<uint64_t>(column.num_rows()) != num_rows) {
      return InvalidArgument(what + " is " + column.ToString() + ": expected " + std::to_string(num_rows) + " rows");
    }
    if (column.empty()) continue;
    const MissingValues missing = labels.MayLackValues(name) ? MissingValues::kAllowed : MissingValues::kRefused;
    RETURN_IF_ERROR(CheckFinite(column, missing, what, threads));
    RETURN_IF_ERROR(CheckBools(column, what, threads));
  }
  return {};
}

Status CheckEdges(const SourceGraph& graph, EdgeTypeId type, const LabelColumns& labels, int threads) {
  const EdgeSet& edges = graph.edges_of(type);
  const std::string where = "edge type '" + graph.schema.EdgeType(type).Name() + "'";
  for (const Tensor* ends : {&edges.sources, &edges.destinations}) {
    if (ends->shape().size() != 1)
      return InvalidArgument(where + ": ids are " + ends->ToString() + ", expected one dimension");
  }
  if (edges.sources.dtype() != edges.destinations.dtype() ||
      edges.sources.num_rows() != edges.destinations.num_rows()) {
    return InvalidArgument(where + ": sources are " + edges.sources.ToString() + ", destinations " +
                           edges.destinations.ToString() + ": expected the same dtype and length");
  }
  RETURN_IF_ERROR(
      CheckEdgeEnds(edges.sources, graph.nodes_of(graph.schema.SourceOf(type)).count, where + ", sources", threads));
  RETURN_IF_ERROR(CheckEdgeEnds(edges.destinations, graph.nodes_of(graph.schema.DestinationOf(type)).count,
                                where + ", destinations", threads));
  if (!edges.original_ids.empty() &&
      (edges.original_ids.dtype() != DType::kU64 || edges.original_ids.shape() != edges.sources.shape())) {
    return InvalidArgument(where + ": original ids are " + edges.original_ids.ToString() + ", expected U64 [" +
                           std::to_string(edges.num_edges()) + "]");
  }
  return CheckColumns(edges.columns, edges.num_edges(), labels, where, threads);
}

Status CheckPart(const std::vector<uint64_t>& ids, uint64_t num_nodes, const std::string& where) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= num_nodes) {
      return OutOfRange(where + "[" + std::to_string(i) + "] is " + std::to_string(ids[i]) + ": the type has " +
                        std::to_string(num_nodes) + " nodes");
    }
    if (i > 0 && ids[i] == ids[i - 1]) {
      return InvalidArgument(where + ": node " + std::to_string(ids[i]) + " occurs more than once");
    }
    if (i > 0 && ids[i] < ids[i - 1]) {
      return InvalidArgument(where + "[" + std::to_string(i) + "] is " + std::to_string(ids[i]) + " after " +
                             std::to_string(ids[i - 1]) + ": expected ascending ids");
    }
  }
  return {};
}

Status CheckDisjoint(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b, const std::string& where,
                     const std::string& parts) {
  auto i = a.begin(), j = b.begin();
  while (i != a.end() && j != b.end()) {
    if (*i == *j) return InvalidArgument(where + ": node " + std::to_string(*i) + " is in both " + parts);
    (*i < *j ? i : j)++;
  }
  return {};
}

Status CheckSplit(const NodeSplit& split, uint64_t num_nodes, const std::string& where) {
  RETURN_IF_ERROR(CheckPart(split.train, num_nodes, where + ", train"));
  RETURN_IF_ERROR(CheckPart(split.validation, num_nodes, where + ", validation"));
  RETURN_IF_ERROR(CheckPart(split.test, num_nodes, where + ", test"));
  RETURN_IF_ERROR(CheckDisjoint(split.train, split.validation, where, "train and validation"));
  RETURN_IF_ERROR(CheckDisjoint(split.train, split.test, where, "train and test"));
  return CheckDisjoint(split.validation, split.test, where, "validation and test");
}

Status CheckPairs(const EdgePairs& pairs, uint64_t num_sources, uint64_t num_destinations, const std::string& where) {
  if (pairs.sources.size() != pairs.destinations.size()) {
    return InvalidArgument(where + " has " + std::to_string(pairs.sources.size()) + " sources and " +
                           std::to_string(pairs.destinations.size()) + " destinations");
  }
  if (!pairs.edge_ids.empty() && pairs.edge_ids.size() != pairs.size()) {
    return InvalidArgument(where + " has " + std::to_string(pairs.size()) + " pairs and " +
                           std::to_string(pairs.edge_ids.size()) + " edge ids");
  }
  const std::span<const uint64_t> sources = pairs.sources.ids(), destinations = pairs.destinations.ids();
  for (size_t i = 0; i < sources.size(); ++i) {
    const bool is_source_invalid = sources[i] >= num_sources;
    if (!is_source_invalid && destinations[i] < num_destinations) continue;
    return OutOfRange(where + ", " + (is_source_invalid ? "source" : "destination") + " of edge " + std::to_string(i) +
                      " is " + std::to_string(is_source_invalid ? sources[i] : destinations[i]) + ": the type has " +
                      std::to_string(is_source_invalid ? num_sources : num_destinations) + " nodes");
  }
  return {};
}

Status CheckEdgeSplits(const SourceGraph& graph) {
  for (const auto& [name, by_type] : graph.edge_splits) {
    RETURN_IF_ERROR(CheckName("split", name));
    for (const auto& [number, split] : by_type) {
      if (number >= graph.edges.size())
        return InvalidArgument("split '" + name + "' names edge type number " + std::to_string(number) +
                               ", but the graph has " + Pluralize(graph.edges.size(), "edge type"));
      const EdgeTypeId type(number);
      const uint64_t num_sources = graph.nodes_of(graph.schema.SourceOf(type)).count;
      const uint64_t num_destinations = graph.nodes_of(graph.schema.DestinationOf(type)).count;
      const std::string where = "split '" + name + "' of '" + graph.schema.EdgeType(type).Name() + "'";
      RETURN_IF_ERROR(CheckPairs(split.train, num_sources, num_destinations, where + ", train"));
      RETURN_IF_ERROR(CheckPairs(split.validation, num_sources, num_destinations, where + ", validation"));
      RETURN_IF_ERROR(CheckPairs(split.test, num_sources, num_destinations, where + ", test"));
    }
  }
  return {};
}

}  // namespace

Status ValidateSourceGraph(const SourceGraph& graph, int threads, const LabelColumns& labels) {
  const GraphSchema& schema = graph.schema;
  if (graph.nodes.size() != schema.num_node_types() || graph.edges.size() != schema.num_edge_types()) {
    return InvalidArgument("the graph has " + std::to_string(graph.nodes.size()) + " node sets and " +
                           std::to_string(graph.edges.size()) + " edge sets: expected those of its schema, " +
                           std::to_string(schema.num_node_types()) + " and " + std::to_string(schema.num_edge_types()));
  }
  uint64_t num_nodes = 0;
  for (const NodeSet& nodes : graph.nodes) num_nodes += nodes.count;
  if (num_nodes == 0) return InvalidArgument("the graph is empty: expected at least one node");
  for (size_t t = 0; t < graph.nodes.size(); ++t) {
    const std::string where = "node type '" + schema.node_types()[t] + "'";
    RETURN_IF_ERROR(CheckColumns(graph.nodes[t].columns, graph.nodes[t].count, labels, where, threads));
  }
  for (size_t t = 0; t < graph.edges.size(); ++t) {
    RETURN_IF_ERROR(CheckEdges(graph, EdgeTypeId(static_cast<uint16_t>(t)), labels, threads));
  }
  for (const auto& [name, by_type] : graph.splits) {
    RETURN_IF_ERROR(CheckName("split", name));
    for (const auto& [type, split] : by_type) {
      if (type >= graph.nodes.size())
        return InvalidArgument("split '" + name + "' names node type number " + std::to_string(type) +
                               ", but the graph has " + Pluralize(graph.nodes.size(), "node type"));
      const std::string where = "split '" + name + "' of '" + schema.node_types()[type] + "'";
      RETURN_IF_ERROR(CheckSplit(split, graph.nodes[type].count, where));
    }
  }
  return CheckEdgeSplits(graph);
}

}  // namespace espalier::graph
