#include "services/sampler/batches/batch_window.h"

#include <vector>

namespace espalier::sampler {
namespace {

template <class T>
uint64_t CountVectorBytes(const std::vector<T>& values) {
  return values.size() * sizeof(T);
}

uint64_t CountLinkBytes(const LinkSeeds& links) {
  uint64_t bytes = CountVectorBytes(links.sources) + CountVectorBytes(links.destinations) +
                   CountVectorBytes(links.relations) + CountVectorBytes(links.set_ends) +
                   CountVectorBytes(links.negative_destinations) + CountVectorBytes(links.negative_sources) +
                   CountVectorBytes(links.negative_weights) + CountVectorBytes(links.edge_ids);
  for (const auto& [name, rows] : links.rows) bytes += rows.size_bytes();
  return bytes;
}

uint64_t CountEdgeBytes(const EdgeSeeds& edges) {
  return CountVectorBytes(edges.sources) + CountVectorBytes(edges.destinations) + edges.labels.size_bytes();
}

}  // namespace

uint64_t CountBytesInMemory(const MiniBatch& batch) {
  uint64_t bytes = 0;
  if (batch.links.has_value()) bytes += CountLinkBytes(*batch.links);
  if (batch.edges.has_value()) bytes += CountEdgeBytes(*batch.edges);
  for (const auto& of_type : batch.nodes) bytes += CountVectorBytes(of_type);
  for (const auto& of_type : batch.times) bytes += CountVectorBytes(of_type);
  for (const BatchLayer& layer : batch.layers) {
    for (const Block& block : layer.blocks) {
      bytes += CountVectorBytes(block.indptr) + CountVectorBytes(block.indices) + CountVectorBytes(block.edge_ids);
    }
  }
  return bytes;
}

}  // namespace espalier::sampler
