#include "services/sampler/batches/node_numbering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "services/base/philox.h"
#include "services/sampler/testing/node_ids.h"

namespace espalier::sampler {
namespace {

using ::testing::ElementsAre;
using testing::Ids;

std::vector<uint32_t> Number(NodeNumbering& numbering, const std::vector<GlobalNodeId>& ids,
                             std::vector<GlobalNodeId>& nodes) {
  std::vector<uint32_t> numbers(ids.size());
  numbering.Number(ids, nodes, numbers.data());
  return numbers;
}

TEST(NodeNumberingTest, NumbersByFirstOccurrence) {
  NodeNumbering numbering(100);
  std::vector<GlobalNodeId> nodes;
  EXPECT_THAT(Number(numbering, Ids({7, 3, 7, 99}), nodes), ElementsAre(0, 1, 0, 2));
  EXPECT_THAT(Number(numbering, Ids({99, 0, 3}), nodes), ElementsAre(2, 3, 1));
  EXPECT_EQ(nodes, Ids({7, 3, 99, 0}));
}

TEST(NodeNumberingTest, ResetsBetweenBatches) {
  NodeNumbering numbering(100);
  std::vector<GlobalNodeId> first, second;
  Number(numbering, Ids({7, 3}), first);
  numbering.StartBatch();
  EXPECT_THAT(Number(numbering, Ids({3, 7}), second), ElementsAre(0, 1));
}

// Direct table, hash table of 32-bit ids, hash table of 64-bit ids; many batches, tables that grow.
TEST(NodeNumberingTest, AllTablesMatchMap) {
  struct Table {
    uint64_t num_nodes, direct_limit;
  };
  for (const Table table : {Table{5000, 10'000}, Table{5000, 0}, Table{uint64_t{1} << 40, 0}}) {
    NodeNumbering numbering(table.num_nodes, table.direct_limit);
    PhiloxStream random(3, table.num_nodes);
    for (int batch = 0; batch < 20; ++batch) {
      numbering.StartBatch();
      std::vector<GlobalNodeId> nodes;
      std::map<uint64_t, uint32_t> expected;
      for (int hop = 0; hop < 4; ++hop) {
        std::vector<GlobalNodeId> ids;
        for (uint32_t i = 0; i < 20u << (2 * hop); ++i) {
          ids.push_back(GlobalNodeId((uint64_t{random.Next()} << 8) % table.num_nodes));
        }
        const std::vector<uint32_t> numbers = Number(numbering, ids, nodes);
        for (size_t i = 0; i < ids.size(); ++i) {
          const uint32_t number = expected.try_emplace(ids[i].value, expected.size()).first->second;
          ASSERT_EQ(numbers[i], number) << "batch " << batch << " hop " << hop << " id " << ids[i].value;
          ASSERT_EQ(nodes[number], ids[i]);
        }
        ASSERT_EQ(nodes.size(), expected.size());
      }
    }
  }
}

}  // namespace
}  // namespace espalier::sampler
