#include "services/shard/own_seeds.h"

#include <algorithm>

#include "services/shard/id_array.h"

namespace espalier::shard {
namespace {

// The cost of a position in FindByPosition divided by the cost of an entry in FindByEntry. Each needs one evaluation of
// the seed order; a position also needs a binary search, which reads about 20 entries that are far apart in memory.
constexpr uint64_t kEntriesPerLookup = 8;

// Returns the index of the first entry of an ascending list that is not less than `ordinal`, or the list's size.
uint64_t LowerBound(const IdArray& ordinals, uint64_t ordinal) {
  uint64_t first = 0, count = ordinals.size();
  while (count > 0) {
    const uint64_t half = count / 2;
    if (ordinals[first + half] < ordinal) {
      first += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return first;
}

// For each position in `range`, looks up its ordinal in the lists.
std::vector<OwnSeed> FindByPosition(const sampler::SeedOrder& order, std::span<const OrdinalList> lists,
                                    sampler::PositionRange range) {
  std::vector<OwnSeed> seeds;
  for (uint64_t position = range.first; position < range.last; ++position) {
    const uint64_t ordinal = order.OrdinalAt(position);
    const auto after = std::upper_bound(lists.begin(), lists.end(), ordinal,
                                        [](uint64_t value, const OrdinalList& list) { return value < list.first; });
    const auto list = static_cast<size_t>(after - lists.begin()) - 1;
    const IdArray ordinals(*lists[list].ordinals);
    const uint64_t in_list = ordinal - lists[list].first, entry = LowerBound(ordinals, in_list);
    if (entry < ordinals.size() && ordinals[entry] == in_list) {
      seeds.push_back({position, static_cast<uint32_t>(list), entry});
    }
  }
  return seeds;
}

// Computes the position of each own entry and keeps those in `range`.
std::vector<OwnSeed> FindByEntry(const sampler::SeedOrder& order, std::span<const OrdinalList> lists,
                                 sampler::PositionRange range) {
  std::vector<OwnSeed> seeds;
  for (uint32_t list = 0; list < lists.size(); ++list) {
    const IdArray ordinals(*lists[list].ordinals);
    for (uint64_t entry = 0; entry < ordinals.size(); ++entry) {
      const uint64_t position = order.Position(lists[list].first + ordinals[entry]);
      if (range.first <= position && position < range.last) seeds.push_back({position, list, entry});
    }
  }
  std::sort(seeds.begin(), seeds.end(), [](const auto& a, const auto& b) { return a.position < b.position; });
  return seeds;
}

}  // namespace

std::vector<OwnSeed> FindOwnSeeds(const sampler::SeedQuery& query, uint64_t total, std::span<const OrdinalList> lists,
                                  sampler::PositionRange range) {
  uint64_t num_own = 0;
  for (const OrdinalList& list : lists) num_own += IdArray(*list.ordinals).size();
  const sampler::SeedOrder order(query, total);
  std::vector<OwnSeed> seeds = num_own / kEntriesPerLookup <= range.size() ? FindByEntry(order, lists, range)
                                                                           : FindByPosition(order, lists, range);
  if (query.positions.has_value()) {
    std::erase_if(seeds, [&](const OwnSeed& seed) {
      return !std::binary_search(query.positions->begin(), query.positions->end(), seed.position - range.first);
    });
  }
  return seeds;
}

}  // namespace espalier::shard
