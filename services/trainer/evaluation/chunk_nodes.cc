#include "services/trainer/evaluation/chunk_nodes.h"

#include <algorithm>

namespace espalier::trainer {
namespace {

constexpr uint64_t kMinNodes = 128, kMaxNodes = 4096;
constexpr double kMiB = 1 << 20;
constexpr double kMaxLayerBytes = 128 * kMiB, kMaxSampleBytes = 288 * kMiB;

enum class Draws { kAsSpecified, kAllInEdges };

// Returns an upper bound for the average number of distinct in-edges per node that a layer draws, over all its
// relations.
double EstimateInEdges(const sampler::LayerSpec& layer, const graph::PartitionBook& book, Draws draws) {
  double in_edges = 0;
  for (uint16_t type = 0; type < layer.fanouts.size(); ++type) {
    const int32_t fanout = layer.fanouts[type];
    if (fanout == 0) continue;
    const NodeTypeId destination = book.schema().DestinationOf(EdgeTypeId(type));
    const double all = static_cast<double>(book.num_edges(EdgeTypeId(type))) /
                       static_cast<double>(std::max<uint64_t>(1, book.num_nodes(destination)));
    in_edges += draws == Draws::kAllInEdges || fanout < 0 ? all : std::min(all, static_cast<double>(fanout));
  }
  return in_edges;
}

// Estimates the number of nodes that a layer reads to compute `nodes` nodes of average degree. The estimate counts a
// neighbor of several nodes several times.
double EstimateNodesRead(double nodes, const sampler::LayerSpec& layer, const graph::PartitionBook& book, Draws draws) {
  return std::min(static_cast<double>(book.num_nodes()), nodes * (1 + EstimateInEdges(layer, book, draws)));
}

}  // namespace

uint64_t ChooseChunkNodes(const sampler::SamplingSpec& spec, job::EvaluationNeighborhood neighborhood,
                          const graph::PartitionBook& book, std::span<const int64_t> row_widths) {
  const auto fits = [&](uint64_t chunk) {
    const auto outputs = static_cast<double>(chunk);
    double nodes_of_sample = outputs, bytes_of_sample = 0;
    for (size_t layer = spec.layers.size(); layer-- > 0;) {
      const double row_bytes = 4.0 * static_cast<double>(row_widths[layer]);
      const double nodes_of_layer = EstimateNodesRead(outputs, spec.layers[layer], book, Draws::kAllInEdges);
      if (nodes_of_layer * row_bytes > kMaxLayerBytes) return false;
      nodes_of_sample = EstimateNodesRead(nodes_of_sample, spec.layers[layer], book, Draws::kAsSpecified);
      bytes_of_sample += nodes_of_sample * row_bytes;
    }
    return neighborhood != job::EvaluationNeighborhood::kSampled || bytes_of_sample <= kMaxSampleBytes;
  };
  uint64_t chunk = kMaxNodes;
  while (chunk > kMinNodes && !fits(chunk)) chunk /= 2;
  return chunk;
}

}  // namespace espalier::trainer
