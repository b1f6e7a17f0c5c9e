#include "services/base/shared_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

namespace espalier {
namespace {

std::shared_ptr<SharedMemory> MapAgain(const Descriptor& descriptor) {
  auto mapped = SharedMemory::Map(Descriptor(fcntl(descriptor.get(), F_DUPFD, 0)));
  EXPECT_TRUE(mapped.ok()) << mapped.status().ToString();
  return mapped.ok() ? *std::move(mapped) : nullptr;
}

TEST(SharedMemoryTest, ProcessesSeeTheSameBytes) {
  auto created = SharedMemory::Create(5000);
  ASSERT_TRUE(created.ok()) << created.status().ToString();
  const std::shared_ptr<SharedMemory> mine = MapAgain(*created);
  ASSERT_NE(mine, nullptr);
  EXPECT_EQ(mine->bytes().size(), 5000u);
  EXPECT_EQ(mine->bytes()[4999], std::byte{0});
  const pid_t child = fork();
  if (child == 0) {
    const auto of_child = SharedMemory::Map(*std::move(created));
    if (!of_child.ok()) _exit(1);
    (*of_child)->bytes()[4999] = std::byte{7};
    _exit(0);
  }
  int state = -1;
  ASSERT_EQ(waitpid(child, &state, 0), child);
  EXPECT_EQ(state, 0);
  EXPECT_EQ(mine->bytes()[4999], std::byte{7});
}

TEST(SharedMemoryTest, TakesMemoryOncePagesAreWritten) {
  const auto created = SharedMemory::Create(uint64_t{1} << 30);
  ASSERT_TRUE(created.ok()) << created.status().ToString();
  const std::shared_ptr<SharedMemory> memory = MapAgain(*created);
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(memory->AllocatedBytes(), 0u);
  memory->bytes()[uint64_t{1} << 29] = std::byte{1};
  EXPECT_GT(memory->AllocatedBytes(), 0u);
  EXPECT_LE(memory->AllocatedBytes(), uint64_t{4} << 20);  // one page, which may be a huge one
}

TEST(SharedMemoryTest, SizeIsFixed) {
  const auto created = SharedMemory::Create(4096);
  ASSERT_TRUE(created.ok()) << created.status().ToString();
  EXPECT_NE(ftruncate(created->get(), 1), 0);
  EXPECT_NE(ftruncate(created->get(), 8192), 0);
  EXPECT_EQ(SharedMemory::Create(0).status().message(), "creating 0 bytes of shared memory: expected at least 1");
}

TEST(SharedMemoryTest, ProcessesShareAFile) {
  const std::string path = testing::TempDir() + "/SharedMemoryTest-ProcessesShareAFile-" + std::to_string(getpid());
  const auto mine = SharedMemory::OpenFile(path, 5000);
  ASSERT_TRUE(mine.ok()) << mine.status().ToString();
  EXPECT_EQ((*mine)->bytes().size(), 5000u);
  EXPECT_EQ((*mine)->bytes()[4999], std::byte{0});
  (*mine)->bytes()[4999] = std::byte{7};
  const auto others = SharedMemory::OpenFile(path, 5000);
  ASSERT_TRUE(others.ok()) << others.status().ToString();
  EXPECT_EQ((*others)->bytes()[4999], std::byte{7}) << "the second one keeps what the first one has written";
  EXPECT_GT((*others)->AllocatedBytes(), 0u);
  const Status other_size = SharedMemory::OpenFile(path, 6000).status();
  EXPECT_EQ(other_size.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(other_size.message(), "opening 6000 bytes of shared memory in " + path +
                                      ": the file has 5000 bytes; delete it, or use another one");
  ASSERT_EQ(unlink(path.c_str()), 0);
  const Status too_large = SharedMemory::OpenFile(path, uint64_t{1} << 60).status();
  EXPECT_EQ(too_large.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(too_large.message().find("its file system has only "), std::string::npos) << too_large.ToString();
  ASSERT_EQ(unlink(path.c_str()), 0);
  EXPECT_EQ(SharedMemory::OpenFile(path, 0).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(SharedMemory::OpenFile(path + "/none", 1).status().code(), StatusCode::kNotFound);
}

TEST(SharedMemoryTest, RefusesOtherDescriptors) {
  const std::string expected = ": expected a descriptor of memory with a fixed size, inherited from its creator";
  Descriptor other(open("/dev/null", O_RDWR | O_CLOEXEC));
  const std::string number = std::to_string(other.get());
  const Status refused = SharedMemory::Map(std::move(other)).status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(refused.message(), "mapping the shared memory of descriptor " + number + expected);
  const Status closed = SharedMemory::Map(Descriptor()).status();
  EXPECT_EQ(closed.message(), "mapping the shared memory of descriptor -1" + expected);
}

}  // namespace
}  // namespace espalier
