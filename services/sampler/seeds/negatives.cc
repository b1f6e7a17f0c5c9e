#include "services/sampler/seeds/negatives.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "services/base/philox.h"
#include "services/sampler/seeds/seed_order.h"

namespace espalier::sampler {
namespace {

// Returns floor(a * b / 2^64).
uint64_t MultiplyHigh(uint64_t a, uint64_t b) {
  const uint64_t a_low = a & 0xffffffffu, a_high = a >> 32, b_low = b & 0xffffffffu, b_high = b >> 32;
  const uint64_t middle = a_high * b_low + (a_low * b_low >> 32);
  return a_high * b_high + (middle >> 32) + ((a_low * b_high + (middle & 0xffffffffu)) >> 32);
}

}  // namespace

Status CheckNegatives(const NegativeSpec& negatives) {
  if (negatives.count > 0 || negatives.kind == NegativeKind::kUniform) return {};
  return InvalidArgument(std::string("0 negatives of kind ") + ToString(negatives.kind) +
                         " for each edge: expected 1 or more, or the kind " + ToString(NegativeKind::kUniform) +
                         ", which allows 0 negatives");
}

std::vector<uint64_t> DrawNodes(uint64_t key, uint64_t stream, uint64_t num_nodes, uint32_t count) {
  PhiloxStream words(key, stream);
  std::vector<uint64_t> nodes;
  nodes.reserve(count);
  for (uint32_t k = 0; k < count; ++k) {
    const uint64_t high = words.Next();
    nodes.push_back(MultiplyHigh(high << 32 | words.Next(), num_nodes));
  }
  return nodes;
}

BatchGroup FindInBatchGroup(uint64_t position, uint32_t count, uint64_t batch_size) {
  const uint64_t size = uint64_t{count} + 1;
  const uint64_t first = position / size * size;
  return {first, std::min(batch_size, first + size)};
}

SeedQuery MakeInDegreeQuery(std::vector<EdgeTypeId> types, const std::string& split, uint64_t seed, uint32_t epoch,
                            uint32_t step, uint64_t negatives_of_step, uint64_t num_edges) {
  SeedQuery query;
  query.split = split;
  // The edges are permuted independently of the order of the seeds, and each step takes the next edges of the
  // permutation. When fewer edges are left than a step needs, the step begins another permutation: with the remainder
  // alone, its negatives would repeat these few edges.
  query.seed = RandomKey(seed, RandomPurpose::kNegatives, epoch);
  query.batch_size = std::min(negatives_of_step, num_edges);
  const auto full_batches = static_cast<uint32_t>(std::min<uint64_t>(num_edges / query.batch_size, UINT32_MAX));
  query.epoch = step / full_batches;
  query.step = step % full_batches;
  query.edge_types = std::move(types);
  return query;
}

}  // namespace espalier::sampler
