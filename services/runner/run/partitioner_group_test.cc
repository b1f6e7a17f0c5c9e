#include "services/runner/run/partitioner_group.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "services/runner/run/commands.h"

namespace espalier::run {
namespace {

TEST(PartitionerGroupTest, OneIsNoGroup) {
  PartitionerGroup group(1);
  group.NoteStart(0);
  EXPECT_EQ(group.PeersFor(0).group, "");
  EXPECT_EQ(group.PeersFor(0).size, 1u);
  EXPECT_EQ(group.PeersFor(0).threads, 0);
  EXPECT_FALSE(group.all_done());
  group.NoteEnd(0, /*ok=*/true);
  EXPECT_TRUE(group.all_done());
}

TEST(PartitionerGroupTest, RestartedProcessJoinsSameGroup) {
  PartitionerGroup group(3);
  for (uint32_t rank = 0; rank < 3; ++rank) group.NoteStart(rank);
  const PartitionerPeers first = group.PeersFor(1);
  EXPECT_EQ(first.rank, 1u);
  EXPECT_EQ(first.size, 3u);
  EXPECT_GE(first.threads, 1);
  group.NoteEnd(1, /*ok=*/false);
  EXPECT_EQ(group.PeersFor(1).group, first.group);
  EXPECT_EQ(group.PeersFor(2).group, first.group);
}

TEST(PartitionerGroupTest, FailureOfAllStartsNewGroup) {
  PartitionerGroup group(2);
  group.NoteStart(0);
  group.NoteStart(1);
  const std::string first = group.PeersFor(0).group;
  group.NoteEnd(0, /*ok=*/false);
  group.NoteEnd(1, /*ok=*/false);
  const std::string second = group.PeersFor(0).group;
  EXPECT_NE(second, first);
  EXPECT_EQ(group.PeersFor(1).group, second);
  group.NoteStart(0);
  group.NoteStart(1);
  group.NoteEnd(0, /*ok=*/true);
  group.NoteEnd(1, /*ok=*/false);
  EXPECT_EQ(group.PeersFor(1).group, second) << "whose partitioning is there";
  EXPECT_FALSE(group.all_done());
  group.NoteStart(1);
  group.NoteEnd(1, /*ok=*/true);
  EXPECT_TRUE(group.all_done());
}

TEST(PartitionerGroupTest, NamesAreUniqueAndValidKeys) {
  PartitionerGroup one(2), other(2);
  EXPECT_NE(one.PeersFor(0).group, other.PeersFor(0).group);
  const std::string name = one.PeersFor(0).group;
  EXPECT_LE(name.size(), 64u);
  EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string::npos) << name;
}

// The process that starts a run may itself be a partitioner of a group.
TEST(PartitionerCommandTest, HasFlagsOfGroup) {
  const Site site{.paths = RunPaths("/srv/job/run"), .program_folder = "/usr/bin"};
  for (const PartitionerPeers& peers : {PartitionerPeers{}, PartitionerPeers{.rank = 1, .size = 3, .group = "g"}}) {
    const process::ChildSpec spec = PartitionerCommand(site, {}, "/srv/partitions", peers);
    for (const char* variable :
         {"ESPALIER_PARTITIONER_RANK", "ESPALIER_PARTITIONER_WORLD_SIZE", "ESPALIER_PARTITIONER_GROUP"}) {
      ASSERT_TRUE(spec.environment.contains(variable)) << variable;
      EXPECT_EQ(spec.environment.at(variable), "") << variable;  // an empty value counts as not set
    }
    const auto flag = std::find(spec.arguments.begin(), spec.arguments.end(), "--group");
    EXPECT_EQ(flag != spec.arguments.end(), peers.size > 1);
  }
}

TEST(PartitionerCommandTest, HasAdminPortAndReadyFile) {
  const Site site{.paths = RunPaths("/srv/job/run"), .program_folder = "/usr/bin"};
  const auto after = [](const process::ChildSpec& spec, const std::string& flag) {
    const auto found = std::find(spec.arguments.begin(), spec.arguments.end(), flag);
    return found == spec.arguments.end() ? "" : *std::next(found);
  };
  const process::ChildSpec alone = PartitionerCommand(site, {}, "/srv/partitions", {});
  EXPECT_EQ(after(alone, "--admin-listen"), "127.0.0.1:0");
  EXPECT_EQ(after(alone, "--ready-file"), site.paths.ReadyFile("partitioner"));
  const process::ChildSpec second =
      PartitionerCommand(site, {}, "/srv/partitions", {.rank = 1, .size = 3, .group = "g"});
  EXPECT_EQ(after(second, "--ready-file"), site.paths.ReadyFile("partitioner-1"));
}

}  // namespace
}  // namespace espalier::run
