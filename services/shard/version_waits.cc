#include "services/shard/version_waits.h"

#include <algorithm>
#include <utility>

namespace espalier::shard {

VersionWaits::VersionWaits() : thread_([this] { EndLateOnes(); }) {}

VersionWaits::~VersionWaits() {
  {
    MutexLock lock(&mutex_);
    closing_ = true;
  }
  thread_.join();
  std::vector<Wait> left;
  {
    MutexLock lock(&mutex_);
    left.swap(waits_);
  }
  for (const Wait& wait : left) wait.ready(Unavailable("the learnable rows that were waited for are gone"));
}

template <class Ends>
std::vector<VersionWaits::Wait> VersionWaits::Take(Ends ends) {
  const auto first = std::stable_partition(waits_.begin(), waits_.end(), [&](const Wait& wait) { return !ends(wait); });
  std::vector<Wait> taken(std::make_move_iterator(first), std::make_move_iterator(waits_.end()));
  waits_.erase(first, waits_.end());
  return taken;
}

void VersionWaits::Await(uint64_t version, Deadline deadline, sampler::DoneStatus ready) {
  Status now;
  {
    MutexLock lock(&mutex_);
    if (version > reached_ && waits_.size() < kMaxWaits) {
      waits_.push_back({version, deadline, std::move(ready)});
      ++num_added_;
      return;
    }
    if (version > reached_) now = ResourceExhausted(std::to_string(kMaxWaits) + " questions wait already");
  }
  ready(now);
}

void VersionWaits::Reach(uint64_t version) {
  std::vector<Wait> ready;
  {
    MutexLock lock(&mutex_);
    reached_ = std::max(reached_, version);
    ready = Take([&](const Wait& wait) { return wait.version <= reached_; });
  }
  for (const Wait& wait : ready) wait.ready(Status());
}

void VersionWaits::EndLateOnes() {
  for (;;) {
    std::vector<Wait> late;
    {
      MutexLock lock(&mutex_);
      const uint64_t seen = num_added_;
      const auto changed = [&] { return closing_ || num_added_ != seen; };
      if (waits_.empty()) {
        mutex_.Await(changed);
      } else {
        const auto nearest = std::min_element(waits_.begin(), waits_.end(), [](const Wait& a, const Wait& b) {
          return a.deadline.time() < b.deadline.time();
        });
        mutex_.AwaitBefore(nearest->deadline, changed);
      }
      if (closing_) return;
      late = Take([](const Wait& wait) { return wait.deadline.HasPassed(); });
    }
    for (const Wait& wait : late) {
      wait.ready(
          DeadlineExceeded("version " + std::to_string(wait.version) +
                           " of learnable rows was not there in time: not all trainers have sent their gradients"));
    }
  }
}

}  // namespace espalier::shard
