// A std::shared_mutex that does not starve writers: the C library's implementation prefers readers, so a writer could
// wait forever while readers keep arriving.
#pragma once

#include <mutex>
#include <shared_mutex>

namespace espalier::shard {

// While a writer waits, later lock requests queue behind it. Meets the requirements of std::unique_lock,
// std::shared_lock and std::lock.
class FairSharedMutex {
 public:
  void lock() {
    const std::lock_guard turn(turn_);
    mutex_.lock();
  }
  bool try_lock() {
    const std::unique_lock turn(turn_, std::try_to_lock);
    return turn.owns_lock() && mutex_.try_lock();
  }
  void unlock() { mutex_.unlock(); }
  void lock_shared() {
    const std::lock_guard turn(turn_);
    mutex_.lock_shared();
  }
  bool try_lock_shared() {
    const std::unique_lock turn(turn_, std::try_to_lock);
    return turn.owns_lock() && mutex_.try_lock_shared();
  }
  void unlock_shared() { mutex_.unlock_shared(); }

 private:
  std::mutex turn_;  // held while waiting for mutex_
  std::shared_mutex mutex_;
};

}  // namespace espalier::shard
