#include "services/partitioner/counted_store.h"

#include <gtest/gtest.h>

#include "services/storage/memory_store.h"

namespace espalier::partitioner {
namespace {

std::span<const std::byte> TextBytes(const std::string& text) { return std::as_bytes(std::span(text)); }

class CountedStoreTest : public ::testing::Test {
 protected:
  CountedStoreTest() {
    bytes_.read = metrics_.AddCounter("espalier_partitioner_read_bytes_total", "Read.");
    bytes_.written = metrics_.AddCounter("espalier_partitioner_written_bytes_total", "Written.");
    const storage::StoreOpener open = [this](const std::string&) -> Result<storage::StoreLocation> {
      return storage::StoreLocation{.store = memory_, .prefix = "below"};
    };
    location_ = *CountBytes(open, bytes_)("mem://");
  }

  storage::ObjectStore& store() { return *location_.store; }

  telemetry::MetricRegistry metrics_;
  ByteCounters bytes_;
  const std::shared_ptr<storage::MemoryStore> memory_ = std::make_shared<storage::MemoryStore>();
  storage::StoreLocation location_;
};

TEST_F(CountedStoreTest, CountsAndForwardsWrites) {
  const auto writer = store().Put("a");
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE((*writer)->Write(TextBytes("four")).ok());
  ASSERT_TRUE((*writer)->Write(TextBytes("six666")).ok());
  ASSERT_TRUE((*writer)->Commit().ok());
  ASSERT_TRUE(store().PutIfAbsent("b", TextBytes("ab")).ok());
  EXPECT_EQ(bytes_.written.Value(), 12);
  EXPECT_EQ(*memory_->Get("a"), "foursix666");
  EXPECT_EQ(location_.prefix, "below");

  EXPECT_EQ(store().PutIfAbsent("b", TextBytes("abc")).code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(bytes_.written.Value(), 12) << "nothing was written";
  EXPECT_EQ(bytes_.read.Value(), 0);
}

TEST_F(CountedStoreTest, CountsEveryWayOfReadingOnce) {
  ASSERT_TRUE(memory_->PutIfAbsent("a", TextBytes("0123456789")).ok());
  std::string out(3, ' ');
  const auto space = std::as_writable_bytes(std::span(out));

  EXPECT_EQ(*store().Get("a"), "0123456789");
  EXPECT_EQ(bytes_.read.Value(), 10);
  EXPECT_EQ(*store().GetRange("a", {.offset = 1, .length = 2}), "12");
  EXPECT_EQ(bytes_.read.Value(), 12);
  ASSERT_TRUE(store().ReadRange("a", {.offset = 2, .length = 3}, space).ok());
  EXPECT_EQ(out, "234");
  EXPECT_EQ(bytes_.read.Value(), 15);
  ASSERT_TRUE(store().ReadRangeOfVersion("a", "", {.offset = 0, .length = 3}, space).ok());
  EXPECT_EQ(bytes_.read.Value(), 18);

  EXPECT_FALSE(store().Get("missing").ok());
  EXPECT_EQ(bytes_.read.Value(), 18);
}

TEST(CountingTest, ForwardsOpenErrors) {
  const storage::StoreOpener open = [](const std::string& uri) -> Result<storage::StoreLocation> {
    return InvalidArgument("no driver for " + uri);
  };
  EXPECT_EQ(CountBytes(open, {})("gopher://a").status().message(), "no driver for gopher://a");
}

}  // namespace
}  // namespace espalier::partitioner
