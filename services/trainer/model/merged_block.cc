#include "services/trainer/model/merged_block.h"

#include <numeric>

#include "services/base/check.h"

namespace espalier::trainer {
namespace {

// Where the rows of a node type are in the merged matrix: row i is at first + i if the layer writes it, otherwise at
// rest + i.
struct TypePlace {
  int64_t num_written = 0;
  int64_t first = 0;
  int64_t rest = 0;

  uint32_t At(uint32_t row) const { return static_cast<uint32_t>(row + (row < num_written ? first : rest)); }
};

std::vector<TypePlace> ListPlaces(const TypedRows& inputs, const WrittenRows& written) {
  std::vector<TypePlace> places(inputs.size());
  for (size_t k = 0; k < written.types.size(); ++k) {
    TypePlace& place = places[written.types[k].value];
    place.num_written = written.counts[k];
    place.first = written.first[written.types[k].value];
  }
  int64_t next = written.total;
  for (size_t type = 0; type < inputs.size(); ++type) {
    places[type].rest = next - places[type].num_written;
    next += inputs[type].size(0) - places[type].num_written;
  }
  ESPALIER_CHECK(next < int64_t{1} << 32) << "a mini-batch of " << next << " rows is too large";
  return places;
}

torch::Tensor MergeRows(const TypedRows& inputs, const WrittenRows& written, const std::vector<TypePlace>& places) {
  if (inputs.size() == 1) return inputs.front();
  std::vector<torch::Tensor> parts = {SelfRows(inputs, written)};
  for (size_t type = 0; type < inputs.size(); ++type) {
    parts.push_back(inputs[type].slice(0, places[type].num_written));
  }
  return torch::cat(parts, 0);
}

}  // namespace

MergedBlock MergeBlocks(const graph::GraphSchema& schema, const sampler::BatchLayer& edges, const TypedRows& inputs,
                        const WrittenRows& written) {
  const std::vector<TypePlace> places = ListPlaces(inputs, written);
  MergedBlock merged{
      MergeRows(inputs, written, places), std::vector<uint32_t>(static_cast<size_t>(written.total) + 1, 0), {}};

  const auto first_row = [&](const sampler::Block& block) {
    return static_cast<size_t>(places[schema.DestinationOf(block.edge_type).value].first);
  };
  for (const sampler::Block& block : edges.blocks) {
    for (size_t i = 0; i + 1 < block.indptr.size(); ++i) {
      merged.indptr[first_row(block) + i + 1] += block.indptr[i + 1] - block.indptr[i];
    }
  }
  std::partial_sum(merged.indptr.begin(), merged.indptr.end(), merged.indptr.begin());

  merged.indices.resize(merged.indptr.back());
  std::vector<uint32_t> next(merged.indptr.begin(), merged.indptr.end() - 1);
  for (const sampler::Block& block : edges.blocks) {
    const TypePlace& source = places[schema.SourceOf(block.edge_type).value];
    for (size_t i = 0; i + 1 < block.indptr.size(); ++i) {
      uint32_t& slot = next[first_row(block) + i];
      for (uint32_t e = block.indptr[i]; e < block.indptr[i + 1]; ++e)
        merged.indices[slot++] = source.At(block.indices[e]);
    }
  }
  return merged;
}

}  // namespace espalier::trainer
