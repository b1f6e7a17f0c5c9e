// Sums the sizes of the arrays that exist at the same time in each phase. Arrays that do not grow with the graph are
// covered by one constant.
#include "services/partition/memory_need.h"

#include <algorithm>

#include "services/partition/id_width.h"
#include "services/partition/stream_rows.h"
#include "services/partition/undirected_graph.h"

namespace espalier::partition {
namespace {

constexpr uint64_t kFixedBytes = uint64_t{64} << 20;  // code, stacks, buffers

// Returns an upper bound of the number of constraints from options.balance.
size_t MaxNumConstraints(const graph::SourceGraph& graph, const PartitionOptions& options) {
  const auto is_requested = [&](BalanceConstraint constraint) {
    return std::count(options.balance.begin(), options.balance.end(), constraint) > 0;
  };
  const size_t of_nodes = is_requested(BalanceConstraint::kNodeTypes) ? std::max<size_t>(graph.nodes.size(), 1) : 1;
  return of_nodes + (is_requested(BalanceConstraint::kTrainNodes) ? 1 : 0) +
         (is_requested(BalanceConstraint::kEdges) ? 1 : 0);
}

uint64_t SumColumns(const std::map<std::string, Tensor>& columns) {
  uint64_t bytes = 0;
  for (const auto& [name, column] : columns) bytes += column.size_bytes();
  return bytes;
}

}  // namespace

uint64_t FixedStreamingBytes() { return kFixedBytes; }

// The arrays are the weights, the index of each vertex's row, the offsets of rows, and the partition of each vertex.
uint64_t StreamingBytesPerVertex(size_t num_constraints) {
  return num_constraints * sizeof(int32_t) + sizeof(uint32_t) + sizeof(uint64_t) + sizeof(uint16_t);
}

uint64_t LeastStreamingMemory(const graph::SourceGraph& graph, const PartitionOptions& options) {
  const size_t constraints = MaxNumConstraints(graph, options);
  uint64_t ends = 0;
  for (const graph::EdgeSet& edges : graph.edges) ends += 2 * edges.num_edges();
  const uint64_t num_vertices = VertexFirst(graph).back();
  // The weights are copied from one array per constraint, so both copies exist for a while. At the end, two copies of
  // the result exist.
  const uint64_t weights = num_vertices * constraints * 2 * sizeof(int32_t);
  const uint64_t rows = num_vertices * StreamingBytesPerVertex(constraints) + ends * sizeof(uint32_t) / kMaxEdgeReads;
  const uint64_t result = num_vertices * (constraints * sizeof(int32_t) + sizeof(uint16_t) + 2 * sizeof(uint32_t));
  return kFixedBytes + std::max({weights, rows, result});
}

uint64_t ComputeBuildMemory(const graph::SourceGraph& graph, uint32_t num_partitions, double largest_to_average,
                            const BuildOptions& options) {
  uint64_t of_layout = 0, of_all_partitions = 0;
  for (const graph::NodeSet& nodes : graph.nodes) {
    const uint64_t width = ItemSize(WidthFor(nodes.count));
    of_layout += nodes.count * (width + sizeof(uint32_t));  // global IDs, the assignment
    of_all_partitions += nodes.count * width + SumColumns(nodes.columns);
  }
  for (uint16_t type = 0; type < graph.edges.size(); ++type) {
    const graph::EdgeSet& edges = graph.edges[type];
    const graph::NodeSet& sources = graph.nodes_of(graph.schema.SourceOf(EdgeTypeId(type)));
    const uint64_t num_destinations = graph.nodes_of(graph.schema.DestinationOf(EdgeTypeId(type))).count;
    const uint64_t out_degrees = sources.count * ItemSize(WidthFor(edges.num_edges()));
    of_layout += out_degrees;
    const uint64_t indptr = num_destinations * ItemSize(WidthFor(edges.num_edges()));
    of_all_partitions += out_degrees + indptr;
    uint64_t bytes_of_edge = ItemSize(WidthFor(sources.count)) + ItemSize(WidthFor(edges.num_edges()));
    if (!edges.original_ids.empty()) bytes_of_edge += sizeof(uint64_t);
    if (!options.source_columns.empty()) bytes_of_edge += ItemSize(WidthFor(sources.count));
    for (const std::string& name : options.source_columns) {
      const auto column = sources.columns.find(name);
      if (column != sources.columns.end()) bytes_of_edge += column->second.row_bytes();
    }
    of_all_partitions += edges.num_edges() * bytes_of_edge + SumColumns(edges.columns);
  }
  const double share = std::min(1.0, largest_to_average / num_partitions);
  return kFixedBytes + of_layout + static_cast<uint64_t>(static_cast<double>(of_all_partitions) * share);
}

}  // namespace espalier::partition
