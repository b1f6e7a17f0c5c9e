#include "services/base/buffer_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

namespace espalier {
namespace {

constexpr size_t kMegabyte = size_t{1} << 20;

TEST(BufferPoolTest, ReusesReturnedBuffer) {
  BufferPool pool(64 * kMegabyte);
  std::byte* first = nullptr;
  {
    const std::shared_ptr<std::byte> buffer = pool.Take(4 * kMegabyte);
    first = buffer.get();
    std::memset(first, 1, 4 * kMegabyte);
    EXPECT_EQ(pool.IdleBytes(), 0u);
  }
  EXPECT_EQ(pool.IdleBytes(), 4 * kMegabyte);
  EXPECT_EQ(pool.Take(3 * kMegabyte).get(), first);
  EXPECT_NE(pool.Take(kMegabyte).get(), first) << "more than twice too large";
}

TEST(BufferPoolTest, KeepsAtMostLimit) {
  BufferPool pool(4 * kMegabyte);
  for (int i = 0; i < 3; ++i) {
    const auto a = pool.Take(2 * kMegabyte), b = pool.Take(2 * kMegabyte), c = pool.Take(2 * kMegabyte);
  }
  EXPECT_LE(pool.IdleBytes(), 4 * kMegabyte);
  { const auto large = pool.Take(16 * kMegabyte); }
  EXPECT_LE(pool.IdleBytes(), 4 * kMegabyte);
}

TEST(BufferPoolTest, ALowerLimitFreesTheSmallestBuffers) {
  BufferPool pool(64 * kMegabyte);
  { const auto a = pool.Take(2 * kMegabyte), b = pool.Take(4 * kMegabyte), c = pool.Take(8 * kMegabyte); }
  EXPECT_EQ(pool.IdleBytes(), 14 * kMegabyte);
  pool.SetMaxIdleBytes(13 * kMegabyte);
  EXPECT_EQ(pool.IdleBytes(), 12 * kMegabyte);
  pool.SetMaxIdleBytes(9 * kMegabyte);
  EXPECT_EQ(pool.IdleBytes(), 8 * kMegabyte);
  pool.SetMaxIdleBytes(0);
  EXPECT_EQ(pool.IdleBytes(), 0u);
  pool.Take(kMegabyte).reset();
  EXPECT_EQ(pool.IdleBytes(), 0u);
}

TEST(BufferPoolTest, BuffersInUseDoNotOverlap) {
  constexpr size_t kBytes = 4096, kHeld = 5, kRounds = 200;
  BufferPool pool(kMegabyte);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&pool, t] {
      std::vector<std::shared_ptr<std::byte>> held(kHeld);
      for (size_t round = 0; round < kRounds; ++round) {
        std::shared_ptr<std::byte>& buffer = held[round % kHeld];
        const auto mark = static_cast<std::byte>(t + 1);
        // Still this thread's mark: no other thread had the same memory.
        for (size_t i = 0; buffer != nullptr && i < kBytes; ++i) ASSERT_EQ(buffer.get()[i], mark);
        buffer = pool.Take(kBytes);
        std::memset(buffer.get(), t + 1, kBytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pool.IdleBytes() % kBytes, 0u);
  EXPECT_GE(pool.IdleBytes(), kHeld * kBytes);
  EXPECT_LE(pool.IdleBytes(), 4 * (kHeld + 1) * kBytes);
}

TEST(BufferPoolTest, BuffersOutliveThePool) {
  std::shared_ptr<std::byte> buffer;
  {
    BufferPool pool(kMegabyte);
    buffer = pool.Take(100);
  }
  std::memset(buffer.get(), 7, 100);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.get()) % 64, 0u);
}

TEST(BufferPoolTest, AllowsEmptyBuffers) { EXPECT_NE(BufferPool(10).Take(0), nullptr); }

}  // namespace
}  // namespace espalier
