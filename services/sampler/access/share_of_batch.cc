#include "services/base/check.h"
#include "services/sampler/access/seed_source.h"

namespace espalier::sampler {
namespace {

constexpr uint32_t kUnassigned = ~0u;

// Returns the rank that takes each seed (ShareOfBatch). Seed i has the node type type_of(i).
template <class TypeOf>
std::vector<uint32_t> AssignRanks(const GlobalBatch& batch, const graph::PartitionBook& book, const TypeOf& type_of,
                                  uint32_t num_trainers) {
  const size_t num_seeds = batch.seeds.size();
  std::vector<size_t> room(num_trainers);
  for (uint32_t r = 0; r < num_trainers; ++r)
    room[r] = num_seeds / num_trainers + (r < num_seeds % num_trainers ? 1 : 0);

  std::vector<uint32_t> rank_of(num_seeds, kUnassigned);
  for (size_t i = 0; i < num_seeds; ++i) {
    const uint32_t preferred = book.OwnerOf(type_of(i), batch.seeds[i]).value % num_trainers;
    if (room[preferred] == 0) continue;
    --room[preferred];
    rank_of[i] = preferred;
  }
  uint32_t next = 0;
  for (uint32_t& rank : rank_of) {
    if (rank != kUnassigned) continue;
    while (room[next] == 0) ++next;  // the ranks' room adds up to the number of seeds
    --room[next];
    rank = next;
  }
  return rank_of;
}

template <class TypeOf>
std::vector<uint32_t> FindPositions(const GlobalBatch& batch, const graph::PartitionBook& book, const TypeOf& type_of,
                                    uint32_t num_trainers, Rank rank) {
  ESPALIER_CHECK(rank.value < num_trainers) << "rank " << rank.value << " of " << num_trainers;
  const std::vector<uint32_t> rank_of = AssignRanks(batch, book, type_of, num_trainers);
  std::vector<uint32_t> positions;
  for (uint32_t i = 0; i < rank_of.size(); ++i) {
    if (rank_of[i] == rank.value) positions.push_back(i);
  }
  return positions;
}

}  // namespace

std::vector<uint32_t> PositionsOfShare(const GlobalBatch& batch, const graph::PartitionBook& book, NodeTypeId type,
                                       uint32_t num_trainers, Rank rank) {
  return FindPositions(
      batch, book, [type](size_t) { return type; }, num_trainers, rank);
}

std::vector<uint32_t> PositionsOfShare(const GlobalBatch& batch, const graph::PartitionBook& book,
                                       std::span<const NodeTypeId> destination_types, uint32_t num_trainers,
                                       Rank rank) {
  ESPALIER_CHECK(batch.types.size() == batch.seeds.size()) << "a batch of nodes has no edge types";
  const auto type_of = [&](size_t i) { return destination_types[batch.types[i]]; };
  return FindPositions(batch, book, type_of, num_trainers, rank);
}

std::vector<GlobalNodeId> ShareOfBatch(const GlobalBatch& batch, const graph::PartitionBook& book, NodeTypeId type,
                                       uint32_t num_trainers, Rank rank) {
  if (num_trainers == 1 && rank == Rank(0)) return batch.seeds;
  std::vector<GlobalNodeId> share;
  for (const uint32_t position : PositionsOfShare(batch, book, type, num_trainers, rank)) {
    share.push_back(batch.seeds[position]);
  }
  return share;
}

}  // namespace espalier::sampler
