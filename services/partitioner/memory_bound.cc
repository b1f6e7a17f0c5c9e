#include "services/partitioner/memory_bound.h"

#include <algorithm>

#include "services/format/source/scratch_file.h"
#include "services/partition/undirected_graph.h"

namespace espalier::partitioner {

Status CheckOptionsForMemoryLimit(const job::Graph& graph, bool holds_edges_out, bool in_group) {
  const auto refuse = [](const std::string& what) { return InvalidArgument("memory limit: " + what); };
  if (in_group) {
    return refuse("not supported with several partitioner processes: use one process, or set no limit");
  }
  if (graph.partitions.algorithm == job::PartitionAlgorithm::kMetis ||
      graph.partitions.algorithm == job::PartitionAlgorithm::kMultilevel) {
    return refuse("METIS and Multilevel hold the whole graph in memory: use Streaming, Random or External");
  }
  const job::Preprocess& preprocess = graph.preprocess;
  if (preprocess.drop_self_loops || preprocess.add_reverse_edges || preprocess.drop_duplicate_edges ||
      preprocess.normalize_features != job::RowNormalization::kNone ||
      preprocess.feature_dtype != job::FeatureDType::kSource || holds_edges_out) {
    return refuse(
        "preprocessing and held-out edges need the whole graph in memory: remove these options, or set no limit");
  }
  return {};
}

Status CheckMemorySuffices(const graph::SourceGraph& graph, const MemoryUse& use) {
  // Random and External hold only two copies of the assignment: one by vertex and one by type.
  const uint64_t for_cut = use.algorithm == job::PartitionAlgorithm::kStreaming
                               ? partition::LeastStreamingMemory(graph, use.cut)
                               : partition::VertexFirst(graph).back() * 2 * sizeof(uint32_t);
  const uint64_t for_build =
      partition::ComputeBuildMemory(graph, use.cut.num_partitions, use.largest_to_average, use.build);
  if (use.memory_bytes >= std::max(for_cut, for_build)) return {};
  return InvalidArgument("the memory of the partitioner is " + std::to_string(use.memory_bytes) +
                         " bytes, expected at least " + std::to_string(std::max(for_cut, for_build)) +
                         ": cutting the graph needs " + std::to_string(for_cut) + " bytes, and building one of its " +
                         std::to_string(use.cut.num_partitions) + " partitions needs " + std::to_string(for_build) +
                         " bytes: give it more memory" + (for_build > for_cut ? ", or make more partitions" : ""));
}

Result<partition::ScratchSpace> MakeScratchSpace(const std::string& folder, uint64_t size_bytes) {
  ASSIGN_OR_RETURN(const format::ScratchRegion region,
                   format::MakeScratchRegion(folder, size_bytes)
                       .While("making room on disk for edges that do not fit into the memory"));
  return partition::ScratchSpace{.bytes = region.bytes, .owner = region.owner};
}

}  // namespace espalier::partitioner
