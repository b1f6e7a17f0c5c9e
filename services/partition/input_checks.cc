// Each check reads its arrays once. CheckEdges scans an edge type in parallel. Every range of edges is read up to its
// first bad edge, and an atomic minimum keeps the lowest one, so the error does not depend on the number of threads.
#include "services/partition/input_checks.h"

#include <atomic>
#include <limits>
#include <utility>

#include "services/base/parallel.h"
#include "services/graph/id_values.h"
#include "services/partition/id_width.h"

namespace espalier::partition {
namespace {

bool IsIdType(DType dtype) {
  return dtype == DType::kU32 || dtype == DType::kI32 || dtype == DType::kI64 || dtype == DType::kU64;
}

Status CheckArrays(const graph::EdgeSet& edges, const std::string& name) {
  if (!IsIdType(edges.sources.dtype()) || edges.sources.dtype() != edges.destinations.dtype() ||
      edges.sources.shape().size() != 1 || edges.sources.shape() != edges.destinations.shape()) {
    return InvalidArgument(
        "edge type '" + name +
        "': expected sources and destinations as two arrays [m] of the same dtype (U32, I32, I64 or U64), " + "found " +
        edges.sources.ToString() + " and " + edges.destinations.ToString());
  }
  if (!edges.original_ids.empty() &&
      (edges.original_ids.dtype() != DType::kU64 || edges.original_ids.shape() != edges.sources.shape())) {
    return InvalidArgument("edge type '" + name + "': expected original ids as U64 [" +
                           std::to_string(edges.num_edges()) + "], found " + edges.original_ids.ToString());
  }
  for (const auto& [column_name, column] : edges.columns) {
    if (column.shape().empty() || column.num_rows() != edges.sources.num_rows()) {
      return InvalidArgument("column '" + column_name + "' of edge type '" + name + "': expected " +
                             std::to_string(edges.num_edges()) + " rows, found " + column.ToString());
    }
  }
  return Status();
}

// Returns the row of the first edge with an endpoint that does not exist, or the largest uint64_t if all exist.
uint64_t FirstBadEdge(const graph::EdgeSet& edges, uint64_t num_sources, uint64_t num_destinations, int threads) {
  std::atomic<uint64_t> first_bad{std::numeric_limits<uint64_t>::max()};
  graph::VisitIds(edges.sources, [&](auto sources) {
    const auto destinations = edges.destinations.values<typename decltype(sources)::value_type>();
    ParallelFor(threads, static_cast<int64_t>(edges.num_edges()), kCheapGrain, [&](int64_t begin, int64_t end) {
      for (auto edge = static_cast<uint64_t>(begin); edge < static_cast<uint64_t>(end); ++edge) {
        if (graph::ToId(sources[edge]) < num_sources && graph::ToId(destinations[edge]) < num_destinations) continue;
        uint64_t seen = first_bad.load();
        while (edge < seen && !first_bad.compare_exchange_weak(seen, edge)) {
        }
        return;
      }
    });
  });
  return first_bad.load();
}

Status CheckPart(const std::vector<uint64_t>& part, uint64_t num_nodes) {
  for (size_t i = 0; i < part.size(); ++i) {
    if (part[i] >= num_nodes) {
      return OutOfRange("node " + std::to_string(part[i]) + " does not exist, expected ids below " +
                        std::to_string(num_nodes));
    }
    if (i > 0 && part[i] <= part[i - 1]) {
      return InvalidArgument("node " + std::to_string(part[i]) + " follows node " + std::to_string(part[i - 1]) +
                             ", expected ascending ids");
    }
  }
  return Status();
}

Status CheckPairs(const graph::EdgePairs& part, uint64_t num_sources, uint64_t num_destinations) {
  if (part.sources.size() != part.destinations.size()) {
    return InvalidArgument("found " + std::to_string(part.sources.size()) + " sources and " +
                           std::to_string(part.destinations.size()) + " destinations, expected equal numbers");
  }
  if (!part.edge_ids.empty() && part.edge_ids.size() != part.size()) {
    return InvalidArgument("found " + std::to_string(part.size()) + " pairs and " +
                           std::to_string(part.edge_ids.size()) + " edge ids, expected one id for each pair or no ids");
  }
  const std::span<const uint64_t> sources = part.sources.ids(), destinations = part.destinations.ids();
  for (size_t i = 0; i < sources.size(); ++i) {
    if (sources[i] < num_sources && destinations[i] < num_destinations) continue;
    return OutOfRange("pair " + std::to_string(i) + ": " + std::to_string(sources[i]) + " -> " +
                      std::to_string(destinations[i]) + ", expected a source below " + std::to_string(num_sources) +
                      " and a destination below " + std::to_string(num_destinations));
  }
  return Status();
}

}  // namespace

Status CheckSplits(const graph::SourceGraph& graph) {
  for (const auto& [name, split_of_type] : graph.splits) {
    for (const auto& [type, split] : split_of_type) {
      if (type >= graph.nodes.size())
        return InvalidArgument("split '" + name + "': node type " + std::to_string(type) +
                               " does not exist, expected a number below " + std::to_string(graph.nodes.size()));
      const std::string where = "split '" + name + "' of node type '" + graph.schema.node_types()[type] + "'";
      for (const auto& [part_name, part] :
           {std::pair("train", &split.train), std::pair("validation", &split.validation),
            std::pair("test", &split.test)}) {
        RETURN_IF_ERROR(CheckPart(*part, graph.nodes[type].count).While(where + ", " + part_name));
      }
    }
  }
  for (const auto& [name, split_of_type] : graph.edge_splits) {
    for (const auto& [type, split] : split_of_type) {
      if (type >= graph.edges.size())
        return InvalidArgument("split '" + name + "': edge type " + std::to_string(type) +
                               " does not exist, expected a number below " + std::to_string(graph.edges.size()));
      const std::string where = "split '" + name + "' of edge type '" + graph.schema.edge_types()[type].Name() + "'";
      const uint64_t num_sources = graph.nodes_of(graph.schema.SourceOf(EdgeTypeId(type))).count;
      const uint64_t num_destinations = graph.nodes_of(graph.schema.DestinationOf(EdgeTypeId(type))).count;
      for (const auto& [part_name, part] :
           {std::pair("train", &split.train), std::pair("validation", &split.validation),
            std::pair("test", &split.test)}) {
        RETURN_IF_ERROR(CheckPairs(*part, num_sources, num_destinations).While(where + ", " + part_name));
      }
    }
  }
  return Status();
}

Status CheckNumPartitions(const graph::SourceGraph& graph, uint32_t num_partitions) {
  if (num_partitions == 0) return InvalidArgument("partitions: expected at least 1, found 0");
  const uint64_t max_nodes = num_partitions * (kFirst64BitCount - 1);
  for (size_t type = 0; type < graph.nodes.size(); ++type) {
    if (graph.nodes[type].count <= max_nodes) continue;
    return InvalidArgument("node type '" + graph.schema.node_types()[type] + "' has " +
                           std::to_string(graph.nodes[type].count) + " nodes, which do not fit into " +
                           std::to_string(num_partitions) + " partitions of fewer than 2^32 each: use more partitions");
  }
  return Status();
}

Status CheckEdges(const graph::SourceGraph& graph, int threads) {
  for (uint16_t type = 0; type < graph.edges.size(); ++type) {
    const graph::EdgeSet& edges = graph.edges[type];
    const std::string name = graph.schema.EdgeType(EdgeTypeId(type)).Name();
    RETURN_IF_ERROR(CheckArrays(edges, name));
    const uint64_t num_sources = graph.nodes_of(graph.schema.SourceOf(EdgeTypeId(type))).count;
    const uint64_t num_destinations = graph.nodes_of(graph.schema.DestinationOf(EdgeTypeId(type))).count;
    const uint64_t bad = FirstBadEdge(edges, num_sources, num_destinations, threads);
    if (bad == std::numeric_limits<uint64_t>::max()) continue;
    const auto row = static_cast<int64_t>(bad);
    return OutOfRange("edge type '" + name + "', edge " + std::to_string(bad) + ": " +
                      std::to_string(edges.sources.ValueAsInt(row)) + " -> " +
                      std::to_string(edges.destinations.ValueAsInt(row)) + ", expected a source below " +
                      std::to_string(num_sources) + " and a destination below " + std::to_string(num_destinations));
  }
  return Status();
}

}  // namespace espalier::partition
