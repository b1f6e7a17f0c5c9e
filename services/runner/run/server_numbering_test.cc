#include "services/runner/run/server_numbering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::run {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ServerNumberingTest, CountsReplicaByReplica) {
  const ServerNumbering servers{.partitions = 3, .replicas = 2};
  EXPECT_EQ(servers.count(), 6u);
  EXPECT_EQ(servers.PartitionFor(2), 2u);
  EXPECT_EQ(servers.ReplicaFor(2), 0u);
  EXPECT_EQ(servers.PartitionFor(4), 1u);
  EXPECT_EQ(servers.ReplicaFor(4), 1u);
}

TEST(ServerNumberingTest, ProcessesOfReplicaAreAdjacent) {
  const ServerNumbering servers{.partitions = 3, .replicas = 2, .processes = 4};
  EXPECT_EQ(servers.count(), 24u);
  for (uint32_t server = 0; server < servers.count(); ++server) {
    EXPECT_EQ(servers.PartitionFor(server), server % 3);
    EXPECT_EQ(servers.ReplicaFor(server), server < 12 ? 0u : 1u) << server;
  }
}

TEST(ServerNumberingTest, AddressesAreGroupedByPartition) {
  EXPECT_THAT(AddressesByPartition({.partitions = 2, .replicas = 1}, {"a:1", "b:1"}), ElementsAre("a:1", "b:1"));
  EXPECT_THAT(AddressesByPartition({.partitions = 2, .replicas = 3}, {"a:1", "b:1", "a:2", "b:2", "a:3", "b:3"}),
              ElementsAre("a:1|a:2|a:3", "b:1|b:2|b:3"));
  EXPECT_THAT(AddressesByPartition({.partitions = 2, .replicas = 1, .processes = 2}, {"a:1", "b:1", "a:2", "b:2"}),
              ElementsAre("a:1|a:2", "b:1|b:2"));
  EXPECT_THAT(AddressesByPartition({.partitions = 2, .replicas = 2}, {}), IsEmpty());
}

}  // namespace
}  // namespace espalier::run
