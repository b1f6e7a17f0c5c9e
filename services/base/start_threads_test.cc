#include "services/base/start_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <system_error>

namespace espalier {
namespace {

// A thread body that runs until `*ended` is true. The number of copies is limited, which simulates a limit on threads.
class ScarceWorker {
 public:
  ScarceWorker(std::atomic<bool>* ended, std::atomic<int>* copies_left) : ended_(ended), copies_left_(copies_left) {}
  ScarceWorker(const ScarceWorker& other) : ended_(other.ended_), copies_left_(other.copies_left_) {
    if (copies_left_->fetch_sub(1) > 0) return;
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  }
  ScarceWorker& operator=(const ScarceWorker&) = delete;

  void operator()() const { ended_->wait(false); }

 private:
  std::atomic<bool>* const ended_;
  std::atomic<int>* const copies_left_;
};

TEST(StartThreadsTest, StartedThreadsEndIfCreationFails) {
  std::atomic<bool> ended = false;
  std::atomic<int> copies_left = 10;
  const ScarceWorker worker(&ended, &copies_left);
  const auto start = [&] {
    std::vector<std::jthread> threads;  // joined at the end of the scope
    StartThreads(threads, 100, worker, [&] {
      ended = true;
      ended.notify_all();
    });
  };
  EXPECT_THROW(start(), std::system_error);
  EXPECT_TRUE(ended.load());
}

TEST(StartThreadsTest, StartsAtLeastOne) {
  std::atomic<int> runs = 0;
  {
    std::vector<std::jthread> threads;
    StartThreads(
        threads, 0, [&] { ++runs; }, [] {});
  }
  EXPECT_EQ(runs.load(), 1);
}

}  // namespace
}  // namespace espalier
