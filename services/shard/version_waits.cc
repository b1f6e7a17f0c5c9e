// Waiting requests are callbacks in a list per embedding. To end requests, Reach, Close and the thread of
// FailExpiredWaits remove the callbacks from the list under the lock and call them after releasing it, because a
// callback may call back into this object. The thread sleeps until the nearest deadline; a new request wakes it
// (num_added_), because its deadline may be nearer.
#include "services/shard/version_waits.h"

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

#include "services/base/check.h"

namespace espalier::shard {
namespace {

Status MakeDroppedError() { return Unavailable("the requested learnable rows were dropped"); }

}  // namespace

VersionWaits::~VersionWaits() {
  {
    MutexLock lock(&mutex_);
    closing_ = true;
  }
  if (thread_.joinable()) thread_.join();
  std::map<uint64_t, Rows> remaining;
  {
    MutexLock lock(&mutex_);
    remaining.swap(rows_);
  }
  for (const auto& [number, rows] : remaining) {
    for (const Wait& wait : rows.waits) wait.ready(MakeDroppedError());
  }
}

Result<uint64_t> VersionWaits::Open(uint64_t version) {
  MutexLock lock(&mutex_);
  if (!thread_.joinable()) {
    try {
      thread_ = std::thread([this] { FailExpiredWaits(); });
    } catch (const std::system_error& error) {
      return ResourceExhausted(std::string("cannot start a thread for learnable rows: ") + error.what());
    }
  }
  rows_[++num_opened_].reached = version;
  return num_opened_;
}

void VersionWaits::Close(uint64_t rows) {
  std::vector<Wait> remaining;
  {
    MutexLock lock(&mutex_);
    const auto found = rows_.find(rows);
    if (found == rows_.end()) return;
    remaining = std::move(found->second.waits);
    num_waits_ -= remaining.size();
    rows_.erase(found);
  }
  for (const Wait& wait : remaining) wait.ready(MakeDroppedError());
}

template <class Ends>
void VersionWaits::MoveEnded(Rows& rows, Ends ends, std::vector<Wait>* ended) {
  const auto first =
      std::stable_partition(rows.waits.begin(), rows.waits.end(), [&](const Wait& wait) { return !ends(wait); });
  num_waits_ -= static_cast<size_t>(rows.waits.end() - first);
  ended->insert(ended->end(), std::make_move_iterator(first), std::make_move_iterator(rows.waits.end()));
  rows.waits.erase(first, rows.waits.end());
}

void VersionWaits::Await(uint64_t rows, uint64_t version, Deadline deadline, sampler::DoneStatus ready) {
  Status now;
  {
    MutexLock lock(&mutex_);
    const auto found = rows_.find(rows);
    if (found == rows_.end()) {
      now = MakeDroppedError();
    } else if (version > found->second.reached && num_waits_ >= kMaxWaits) {
      now = ResourceExhausted(std::to_string(kMaxWaits) +
                              " requests wait for learnable rows already, which is the limit");
    } else if (version > found->second.reached) {
      found->second.waits.push_back({version, deadline, std::move(ready)});
      ++num_waits_;
      ++num_added_;
      return;
    }
  }
  ready(now);
}

void VersionWaits::Reach(uint64_t rows, uint64_t version) {
  std::vector<Wait> ready;
  {
    MutexLock lock(&mutex_);
    const auto found = rows_.find(rows);
    if (found == rows_.end()) return;
    found->second.reached = std::max(found->second.reached, version);
    MoveEnded(
        found->second, [&](const Wait& wait) { return wait.version <= found->second.reached; }, &ready);
  }
  for (const Wait& wait : ready) wait.ready(Status());
}

Deadline VersionWaits::NearestDeadline() const {
  std::optional<Deadline> nearest;
  for (const auto& [number, rows] : rows_) {
    for (const Wait& wait : rows.waits) {
      if (!nearest.has_value() || wait.deadline.time() < nearest->time()) nearest = wait.deadline;
    }
  }
  ESPALIER_CHECK(nearest.has_value()) << "no request waits";
  return *nearest;
}

void VersionWaits::FailExpiredWaits() {
  for (;;) {
    std::vector<Wait> late;
    {
      MutexLock lock(&mutex_);
      const uint64_t seen = num_added_;
      const auto changed = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return closing_ || num_added_ != seen; };
      if (HasWaits()) {
        mutex_.AwaitBefore(NearestDeadline(), changed);
      } else {
        mutex_.Await(changed);
      }
      if (closing_) return;
      for (auto& [number, rows] : rows_) {
        MoveEnded(
            rows, [](const Wait& wait) { return wait.deadline.HasPassed(); }, &late);
      }
    }
    for (const Wait& wait : late) {
      wait.ready(
          DeadlineExceeded("version " + std::to_string(wait.version) +
                           " of learnable rows was not reached in time: not all trainers have sent their gradients"));
    }
  }
}

}  // namespace espalier::shard
