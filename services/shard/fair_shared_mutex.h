// A std::shared_mutex whose writers are not starved: the C library's prefers readers, and where these never pause a
// writer would wait for ever.
#pragma once

#include <mutex>
#include <shared_mutex>

namespace espalier::shard {

// Whoever comes after a waiting writer waits behind it. For std::unique_lock, std::shared_lock and std::lock.
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
  std::mutex turn_;  // held while waiting for the other
  std::shared_mutex mutex_;
};

}  // namespace espalier::shard
