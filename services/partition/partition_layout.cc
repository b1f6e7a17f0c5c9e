#include "services/partition/partition_layout.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>

#include "services/base/parallel.h"
#include "services/partition/input_checks.h"
#include "services/partition/typed_ids.h"

namespace espalier::partition {
namespace {

constexpr uint64_t kFirst64BitCount = uint64_t{1} << 32;

DType WidthFor(uint64_t count) { return count < kFirst64BitCount ? DType::kU32 : DType::kU64; }

Status CheckNodeColumns(const graph::SourceGraph& graph) {
  const auto refuse = [&](NodeTypeId type, const std::string& column) {
    return InvalidArgument("node type '" + graph.schema.NodeTypeName(type) + "' has a column '" + column +
                           "', a name that partitions use themselves: rename it");
  };
  for (uint16_t type = 0; type < graph.nodes.size(); ++type) {
    if (graph.nodes[type].columns.contains("original_id")) return refuse(NodeTypeId(type), "original_id");
    for (const auto& [name, column] : graph.nodes[type].columns) {
      if (!column.shape().empty() && static_cast<uint64_t>(column.num_rows()) == graph.nodes[type].count) continue;
      return InvalidArgument("column '" + name + "' of node type '" + graph.schema.NodeTypeName(NodeTypeId(type)) +
                             "': expected " + std::to_string(graph.nodes[type].count) + " rows, found " +
                             column.ToString());
    }
  }
  for (uint16_t type = 0; type < graph.edges.size(); ++type) {
    const NodeTypeId source = graph.schema.SourceOf(EdgeTypeId(type));
    const std::string column = OutDegreeColumnName(graph.schema.EdgeType(EdgeTypeId(type)));
    if (graph.nodes_of(source).columns.contains(column)) return refuse(source, column);
  }
  return Status();
}

// Where each partition's nodes of one type start: [num_partitions + 1].
Result<std::vector<uint64_t>> NodeFirst(const std::vector<uint32_t>& partition_of, uint32_t num_partitions,
                                        const std::string& type_name) {
  std::vector<uint64_t> first(num_partitions + 1, 0);
  for (const uint32_t partition : partition_of) ++first[partition + 1];
  for (uint32_t p = 0; p < num_partitions; ++p) {
    if (first[p + 1] >= kFirst64BitCount) {
      return InvalidArgument("partition " + std::to_string(p) + " would own " + std::to_string(first[p + 1]) +
                             " nodes of type '" + type_name + "', more than 2^32: use more partitions");
    }
    first[p + 1] += first[p];
  }
  return first;
}

// Nodes in original order take the next number of their partition.
template <class T>
Tensor GlobalIds(const std::vector<uint32_t>& partition_of, std::vector<uint64_t> next) {
  Tensor ids = Tensor::Zeros(DTypeOf<T>::value, {static_cast<int64_t>(partition_of.size())});
  const std::span<T> global_of = ids.mutable_values<T>();
  for (size_t node = 0; node < partition_of.size(); ++node) {
    global_of[node] = static_cast<T>(next[partition_of[node]]++);
  }
  return ids;
}

struct EdgeCounts {
  std::vector<uint64_t> of_partition;  // [num_partitions]: edges by their destination's owner
  uint64_t max_original_id = 0;
};

// Counts what one edge type gives to each partition and takes from each source node. D is the out-degrees' type.
template <class D>
EdgeCounts CountEdges(const graph::EdgeSet& edges, const std::vector<uint32_t>& owner_of_destination,
                      uint32_t num_partitions, std::span<D> out_degree, int threads) {
  EdgeCounts counts{.of_partition = std::vector<uint64_t>(num_partitions, 0)};
  std::mutex mutex;  // guards counts
  const std::span<const uint64_t> original_ids =
      edges.original_ids.empty() ? std::span<const uint64_t>() : edges.original_ids.values<uint64_t>();
  const auto count_range = [&](const auto& sources, const auto& destinations, uint64_t begin, uint64_t end) {
    EdgeCounts part{.of_partition = std::vector<uint64_t>(num_partitions, 0)};
    for (uint64_t edge = begin; edge < end; ++edge) {
      ++part.of_partition[owner_of_destination[IdOf(destinations[edge])]];
      std::atomic_ref<D>(out_degree[IdOf(sources[edge])]).fetch_add(1, std::memory_order_relaxed);
      const uint64_t original_id = original_ids.empty() ? edge : original_ids[edge];
      part.max_original_id = std::max(part.max_original_id, original_id);
    }
    const std::lock_guard lock(mutex);
    for (uint32_t p = 0; p < num_partitions; ++p) counts.of_partition[p] += part.of_partition[p];
    counts.max_original_id = std::max(counts.max_original_id, part.max_original_id);
  };
  VisitIds(edges.sources, [&](auto sources) {
    const auto destinations = edges.destinations.values<typename decltype(sources)::value_type>();
    ParallelFor(threads, static_cast<int64_t>(edges.num_edges()), kCheapGrain, [&](int64_t begin, int64_t end) {
      count_range(sources, destinations, static_cast<uint64_t>(begin), static_cast<uint64_t>(end));
    });
  });
  return counts;
}

// Adds one edge type to the layout; returns where each partition's edges start: [num_partitions + 1].
std::vector<uint64_t> AddEdgeType(const graph::SourceGraph& graph, const Assignment& assignment,
                                  uint32_t num_partitions, int threads, EdgeTypeId type, PartitionLayout* layout) {
  const graph::EdgeSet& edges = graph.edges_of(type);
  const uint64_t num_sources = graph.nodes_of(graph.schema.SourceOf(type)).count;
  const std::vector<uint32_t>& owner = assignment[graph.schema.DestinationOf(type).value];

  Tensor out_degree = Tensor::Zeros(WidthFor(edges.num_edges()), {static_cast<int64_t>(num_sources)});
  const EdgeCounts counts =
      out_degree.dtype() == DType::kU32
          ? CountEdges(edges, owner, num_partitions, out_degree.mutable_values<uint32_t>(), threads)
          : CountEdges(edges, owner, num_partitions, out_degree.mutable_values<uint64_t>(), threads);
  layout->out_degrees.push_back(std::move(out_degree));
  layout->original_edge_id_dtypes.push_back(
      counts.max_original_id <= std::numeric_limits<uint32_t>::max() ? DType::kU32 : DType::kU64);

  std::vector<uint64_t> first(num_partitions + 1, 0);
  for (uint32_t p = 0; p < num_partitions; ++p) first[p + 1] = first[p] + counts.of_partition[p];
  return first;
}

}  // namespace

Status CheckAssignment(const graph::SourceGraph& graph, const Assignment& assignment, uint32_t num_partitions) {
  if (num_partitions == 0) return InvalidArgument("partitions: expected at least 1, found 0");
  if (assignment.size() != graph.nodes.size()) {
    return InvalidArgument("assignment has " + std::to_string(assignment.size()) + " node types, the graph has " +
                           std::to_string(graph.nodes.size()));
  }
  for (size_t type = 0; type < assignment.size(); ++type) {
    const std::string& type_name = graph.schema.node_types()[type];
    if (assignment[type].size() != graph.nodes[type].count) {
      return InvalidArgument("assignment of node type '" + type_name + "' has " +
                             std::to_string(assignment[type].size()) +
                             " rows, expected one per node: " + std::to_string(graph.nodes[type].count));
    }
    for (size_t node = 0; node < assignment[type].size(); ++node) {
      if (assignment[type][node] >= num_partitions) {
        return InvalidArgument("assignment of node type '" + type_name + "', row " + std::to_string(node) +
                               ": partition " + std::to_string(assignment[type][node]) +
                               " does not exist, expected 0 to " + std::to_string(num_partitions - 1));
      }
    }
  }
  return Status();
}

DirectoryRange DirectoryRangeOf(uint64_t num_nodes, uint32_t num_partitions, PartitionId partition) {
  // floor(n * p / P) without the product, which could overflow.
  const auto start = [&](uint64_t p) {
    return num_nodes / num_partitions * p + num_nodes % num_partitions * p / num_partitions;
  };
  return {start(partition.value), start(uint64_t{partition.value} + 1)};
}

Result<PartitionLayout> MakePartitionLayout(const graph::SourceGraph& graph, const Assignment& assignment,
                                            uint32_t num_partitions, int threads) {
  RETURN_IF_ERROR(CheckAssignment(graph, assignment, num_partitions));
  RETURN_IF_ERROR(CheckNodeColumns(graph));
  RETURN_IF_ERROR(CheckEdges(graph, threads));
  RETURN_IF_ERROR(CheckSplits(graph));
  PartitionLayout layout;
  std::vector<std::vector<uint64_t>> node_first(graph.nodes.size()), edge_first(graph.edges.size());
  for (size_t type = 0; type < graph.nodes.size(); ++type) {
    ASSIGN_OR_RETURN(node_first[type], NodeFirst(assignment[type], num_partitions, graph.schema.node_types()[type]));
    layout.global_ids.push_back(WidthFor(graph.nodes[type].count) == DType::kU32
                                    ? GlobalIds<uint32_t>(assignment[type], node_first[type])
                                    : GlobalIds<uint64_t>(assignment[type], node_first[type]));
  }
  for (uint16_t type = 0; type < graph.edges.size(); ++type) {
    edge_first[type] = AddEdgeType(graph, assignment, num_partitions, threads, EdgeTypeId(type), &layout);
  }
  ASSIGN_OR_RETURN(layout.book, graph::PartitionBook::Make(graph.schema, std::move(node_first), std::move(edge_first)));
  return layout;
}

}  // namespace espalier::partition
