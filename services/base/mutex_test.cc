// Waits that end because of a stop request.
#include "services/base/mutex.h"

#include <gtest/gtest.h>

#include <stop_token>
#include <thread>

#include "services/base/testing/soon.h"

namespace espalier {
namespace {

// A thread that waits in AwaitBefore until `done` is set, the deadline passes or its stop is requested.
class Waiter {
 public:
  explicit Waiter(const Deadline& deadline) : thread_([this, deadline] { Wait(deadline); }) {
    // Once the thread has found its condition false and the mutex is free, it waits.
    for (;; std::this_thread::yield()) {
      MutexLock lock(&mutex_);
      if (has_looked_) return;
    }
  }
  void SetDone() {
    MutexLock lock(&mutex_);
    done_ = true;
  }
  bool Outcome() {
    thread_.join();
    return outcome_;
  }

 private:
  void Wait(const Deadline& deadline) {
    MutexLock lock(&mutex_);
    outcome_ = mutex_.AwaitBefore(deadline, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      has_looked_ = true;
      return done_;
    });
  }

  Mutex mutex_;
  bool has_looked_ ABSL_GUARDED_BY(mutex_) = false;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
  bool outcome_ = false;  // written by thread_, read after it is joined
  std::jthread thread_;
};

TEST(MutexTest, StopEndsWait) {
  std::stop_source stop;
  Waiter waiter(Deadline::Never().OrStop(stop.get_token()));
  stop.request_stop();
  EXPECT_FALSE(waiter.Outcome());
}

TEST(MutexTest, ConditionEndsWaitsWithAndWithoutStop) {
  std::stop_source stop;
  Waiter with_stop(Soon().OrStop(stop.get_token())), without(Soon());
  with_stop.SetDone();
  without.SetDone();
  EXPECT_TRUE(with_stop.Outcome());
  EXPECT_TRUE(without.Outcome());
}

TEST(MutexTest, WaitersOfBothKindsShareAMutex) {
  Mutex mutex;
  int checked = 0, woken = 0;
  bool done = false;
  std::stop_source stop;
  const auto wait = [&](const Deadline& deadline) {
    MutexLock lock(&mutex);
    bool is_first = true;
    woken += mutex.AwaitBefore(deadline, [&] {
      if (is_first) ++checked;
      is_first = false;
      return done;
    });
  };
  {
    std::jthread one([&] { wait(Soon()); }), other([&] { wait(Soon().OrStop(stop.get_token())); });
    for (bool both = false; !both; std::this_thread::yield()) {
      MutexLock lock(&mutex);
      both = checked == 2;
    }
    MutexLock lock(&mutex);
    done = true;
  }
  EXPECT_EQ(woken, 2);
}

TEST(DeadlineTest, NeverAndFarAwayDeadlinesDoNotOverflow) {
  EXPECT_FALSE(Deadline::Never().Plus(std::chrono::seconds(10)).HasPassed());
  EXPECT_FALSE(Deadline::After(std::chrono::nanoseconds::max()).HasPassed());
  EXPECT_FALSE(Deadline::Never().AtMost(std::chrono::nanoseconds::max()).HasPassed());
  EXPECT_TRUE(Deadline::Never().AtMost(std::chrono::seconds(0)).HasPassed());
}

}  // namespace
}  // namespace espalier
