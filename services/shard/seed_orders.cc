#include "services/shard/seed_orders.h"

#include <algorithm>

#include "services/base/mutex.h"
#include "services/sampler/seed_order.h"
#include "services/shard/id_array.h"

namespace espalier::shard {
namespace {

// Training and evaluation of two epochs at once, with room to spare.
constexpr size_t kKept = 8;

SeedOrders::Order MakeOrder(const sampler::SeedQuery& query, uint64_t total,
                            std::span<const SeedOrders::OrdinalList> lists) {
  const sampler::SeedOrder order(query, total);
  auto seeds = std::make_shared<std::vector<SeedOrders::OrderedSeed>>();
  for (uint32_t list = 0; list < lists.size(); ++list) {
    const IdArray ordinals(*lists[list].ordinals);
    for (uint64_t i = 0; i < ordinals.size(); ++i) {
      seeds->push_back({order.PositionOf(lists[list].first + ordinals[i]), list, i});
    }
  }
  std::sort(seeds->begin(), seeds->end(), [](const auto& a, const auto& b) { return a.position < b.position; });
  return seeds;
}

}  // namespace

SeedOrders::Order SeedOrders::Get(const sampler::SeedQuery& query, uint64_t total, std::span<const OrdinalList> lists) {
  // Without shuffling, seed and epoch make no difference.
  const Key key{query.edge_types,
                query.edge_types.empty() ? query.node_type.value : uint16_t{0},
                query.split,
                query.part,
                query.shuffle,
                query.shuffle ? query.seed : 0,
                query.shuffle ? query.epoch : 0};
  MutexLock lock(&mutex_);
  for (const auto& [kept, order] : recent_) {
    if (kept == key) return order;
  }
  // Made under the lock: whoever asks meanwhile most likely asks for the same.
  if (recent_.size() == kKept) recent_.pop_front();
  recent_.emplace_back(key, MakeOrder(query, total, lists));
  return recent_.back().second;
}

}  // namespace espalier::shard
