#include "services/base/buffer_pool.h"

#include <gtest/gtest.h>

#include <cstring>

namespace espalier {
namespace {

constexpr size_t kMegabyte = size_t{1} << 20;

TEST(BufferPoolTest, GivesAReturnedBufferAgain) {
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

TEST(BufferPoolTest, KeepsNoMoreThanItMay) {
  BufferPool pool(4 * kMegabyte);
  for (int i = 0; i < 3; ++i) {
    const auto a = pool.Take(2 * kMegabyte), b = pool.Take(2 * kMegabyte), c = pool.Take(2 * kMegabyte);
  }
  EXPECT_LE(pool.IdleBytes(), 4 * kMegabyte);
  { const auto large = pool.Take(16 * kMegabyte); }
  EXPECT_LE(pool.IdleBytes(), 4 * kMegabyte);
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

TEST(BufferPoolTest, ZeroBytesAreABufferToo) { EXPECT_NE(BufferPool(10).Take(0), nullptr); }

}  // namespace
}  // namespace espalier
