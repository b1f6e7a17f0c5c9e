#include "services/client/loaders/collated_batches.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <utility>

namespace espalier::client {
namespace {

// An endless source of empty mini-batches. Calls `on_cancel` once, at the first Cancel.
class EndlessBatches final : public sampler::MiniBatchSource {
 public:
  Status StartEpoch(uint32_t, uint32_t) override {
    is_cancelled_ = false;
    return Status();
  }
  Result<sampler::MiniBatch> Next(Deadline) override {
    if (is_cancelled_) return Cancelled("the source was cancelled");
    return sampler::MiniBatch();
  }
  void Cancel() override {
    is_cancelled_ = true;
    if (on_cancel) std::exchange(on_cancel, nullptr)();
  }
  std::function<void()> on_cancel;

 private:
  std::atomic<bool> is_cancelled_ = false;
};

TEST(CollatedBatchesTest, CancelDuringStartEpochCancelsTheNewEpoch) {
  EndlessBatches source;
  CollatedBatches<int> batches(std::chrono::minutes(1), source, 2,
                               [](const sampler::MiniBatch&, const Deadline&) -> Result<int> { return 7; });
  ASSERT_TRUE(batches.StartEpoch(0, 0).ok());
  ASSERT_EQ(*batches.Next(), 7);
  source.on_cancel = [&batches] { batches.Cancel(); };  // called while StartEpoch ends the first epoch
  ASSERT_TRUE(batches.StartEpoch(1, 0).ok());
  EXPECT_EQ(batches.Next().status().code(), StatusCode::kCancelled);
  ASSERT_TRUE(batches.StartEpoch(2, 0).ok());
  EXPECT_EQ(*batches.Next(), 7);
}

}  // namespace
}  // namespace espalier::client
