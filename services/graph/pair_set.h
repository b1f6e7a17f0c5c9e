// A set of node pairs, used to find the edges of a large graph that are in the set. Most edges are not in it; for
// these, one access to an array of bits is usually enough. The array is far smaller than the pairs and mostly stays in
// the cache. Only an edge whose bit is set is searched for in the sorted pairs.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "services/base/hash.h"

namespace espalier::graph {

// Immutable; thread-safe.
class PairSet {
 public:
  using Pair = std::pair<uint64_t, uint64_t>;

  // `pairs` must be sorted, may contain duplicates, and must outlive this object. Uses about 2 to 4 bytes for each
  // pair.
  explicit PairSet(std::span<const Pair> pairs)
      : pairs_(pairs), bits_(std::bit_ceil(std::max<uint64_t>(1, pairs.size() * kBitsPerPair / 64))) {
    for (const auto& [source, destination] : pairs_) {
      const uint64_t bit = HashCombine(source, destination);
      bits_[bit / 64 & (bits_.size() - 1)] |= uint64_t{1} << (bit % 64);
    }
  }

  bool Contains(uint64_t source, uint64_t destination) const {
    const uint64_t bit = HashCombine(source, destination);
    if ((bits_[bit / 64 & (bits_.size() - 1)] >> (bit % 64) & 1) == 0) return false;
    return std::binary_search(pairs_.begin(), pairs_.end(), Pair(source, destination));
  }

 private:
  // Of the edges that are not in the set, at most about one in 16 is searched for.
  static constexpr uint64_t kBitsPerPair = 16;

  const std::span<const Pair> pairs_;
  std::vector<uint64_t> bits_;  // its size is a power of two
};

}  // namespace espalier::graph
