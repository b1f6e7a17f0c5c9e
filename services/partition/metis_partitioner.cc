// METIS: multilevel k-way partitioning (Karypis, Kumar, "A fast and high quality multilevel scheme for partitioning
// irregular graphs", SIAM J. Sci. Comput. 20, 1998), with the METIS library. The library counts in 32 bits, so each
// size is checked as early as it is known: vertices before their weights are allocated, degrees before neighbors are
// allocated (CheckMayFitMetis), and the merged graph before the call (CheckFitsMetis).
#include "services/partition/metis_partitioner.h"

#include <metis.h>

#include <limits>
#include <numeric>
#include <optional>

#include "services/partition/balance.h"
#include "services/partition/metis_call.h"
#include "services/partition/partitioner.h"
#include "services/partition/undirected_graph.h"

namespace espalier::partition {
namespace {

constexpr uint64_t kMetisMax = std::numeric_limits<idx_t>::max();
constexpr const char* kAllEdges = "edges (each counted in both directions, parallel edges too)";

Status CheckDegreesMayFitMetis(std::span<const uint64_t> offsets) {
  if (offsets.back() <= kMetisMax) return Status();
  uint64_t divisor = 0;
  for (size_t vertex = 0; vertex + 1 < offsets.size() && divisor != 1; ++vertex) {
    divisor = std::gcd(divisor, offsets[vertex + 1] - offsets[vertex]);
  }
  return CheckMayFitMetis(offsets.back(), divisor);
}

class MetisPartitioner final : public Partitioner {
 public:
  const char* name() const override { return "METIS"; }
  int version() const override { return 1; }

  Result<Assignment> Partition(const graph::SourceGraph& graph, const PartitionOptions& options) const override {
    ASSIGN_OR_RETURN(std::optional<Assignment> uncut, AssignWithoutCut(graph, options));
    if (uncut.has_value()) return *std::move(uncut);
    const std::vector<uint64_t> vertex_first = VertexFirst(graph);
    const uint64_t num_vertices = vertex_first.back();
    RETURN_IF_ERROR(CheckFitsMetis({.num_vertices = num_vertices}));  // before weights per vertex are allocated
    ASSIGN_OR_RETURN(VertexWeights weights, MakeVertexWeights(graph, options));
    RETURN_IF_ERROR(CheckFitsMetis({.num_vertices = num_vertices, .num_constraints = weights.num_constraints()}));
    RETURN_IF_ERROR(CheckTotalsFitMetis(weights.names, weights.totals));
    ASSIGN_OR_RETURN(UndirectedGraph undirected, MakeUndirectedGraph(graph, options.threads, CheckDegreesMayFitMetis));
    uint64_t total_edge_weight = 0;
    for (const uint32_t weight : undirected.weights) total_edge_weight += weight;
    RETURN_IF_ERROR(CheckFitsMetis({.num_vertices = num_vertices,
                                    .num_neighbors = undirected.neighbors.size(),
                                    .total_edge_weight = total_edge_weight,
                                    .num_constraints = weights.num_constraints()}));
    ASSIGN_OR_RETURN(const std::vector<uint32_t> partition_of,
                     CallMetis(std::move(undirected), std::move(weights), options));
    return SplitByType(vertex_first, partition_of);
  }
};

Status TooLarge(uint64_t number, const std::string& of_what) {
  return InvalidArgument("METIS counts in 32 bits and the graph has " + std::to_string(number) + " " + of_what +
                         ", more than " + std::to_string(kMetisMax) + ": use the algorithm Multilevel or Streaming");
}

}  // namespace

Status CheckFitsMetis(const MetisSize& size) {
  if (size.num_vertices > kMetisMax) return TooLarge(size.num_vertices, "nodes");
  if (size.num_vertices * size.num_constraints > kMetisMax) {
    return TooLarge(size.num_vertices * size.num_constraints, "nodes times balance constraints");
  }
  if (size.num_neighbors > kMetisMax) return TooLarge(size.num_neighbors, "entries of adjacency lists (two per edge)");
  if (size.total_edge_weight > kMetisMax) return TooLarge(size.total_edge_weight, kAllEdges);
  return Status();
}

Status CheckTotalsFitMetis(const std::vector<std::string>& names, std::span<const uint64_t> totals) {
  for (size_t i = 0; i < totals.size(); ++i) {
    if (totals[i] > kMetisMax)
      return TooLarge(totals[i], "as the total weight of the balance constraint '" + names[i] + "'");
  }
  return Status();
}

Status CheckMayFitMetis(uint64_t sum_of_degrees, uint64_t divisor_of_degrees) {
  // If all neighbors have the same multiplicity, they have no weights, and their number is the sum divided by the
  // multiplicity. The multiplicity divides every degree, so it is at most the divisor.
  const bool fits = sum_of_degrees <= kMetisMax || sum_of_degrees / divisor_of_degrees <= kMetisMax;
  return fits ? Status() : TooLarge(sum_of_degrees, kAllEdges);
}

std::unique_ptr<Partitioner> MakeMetisPartitioner() { return std::make_unique<MetisPartitioner>(); }

}  // namespace espalier::partition
