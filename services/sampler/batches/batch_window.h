// A queue of mini-batches that are sampled ahead of the one whose rows are gathered, so that a ScheduledRowCache and
// ScheduledSlots know in which of the next steps a row is read. The data loaders of programs (client/loaders) and the
// built-in trainer (trainer/data) use it, with different data beside each mini-batch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

#include "services/sampler/batches/mini_batch.h"
#include "services/sampler/row_cache/scheduled_row_cache.h"
#include "services/sampler/row_cache/scheduled_slots.h"

namespace espalier::sampler {

// Returns the memory of a mini-batch, in bytes: nodes, times, blocks, and its `links` or `edges` in tasks on edges.
uint64_t CountBytesInMemory(const MiniBatch& batch);

struct BatchWindowOptions {
  // Both outlive the window; null: none. If both are null, the window has at most one mini-batch.
  ScheduledRowCache* rows = nullptr;
  ScheduledSlots* slots = nullptr;
  uint32_t steps = 0;  // mini-batches sampled beyond the one whose rows are gathered
  // Limit for the memory of the mini-batches in the window, in bytes. The window always has room for one mini-batch.
  // The next mini-batch is assumed to be as large as the one before it, so a larger one may exceed the limit.
  uint64_t max_bytes = 0;
};

// The mini-batches that wait for their rows, in step order. The window grows by one mini-batch per step until it has
// steps + 1 mini-batches, so the first step waits only for the sampling of its own mini-batch. The growth does not
// depend on timing, so the hits and misses of a cache are reproducible. Item has a member `batch`, a MiniBatch. Owned
// by one thread.
template <class Item>
class BatchWindow {
 public:
  explicit BatchWindow(const BatchWindowOptions& options) : options_(options) {}

  // Allows one more mini-batch to wait. Call it once before each Pop.
  void Grow() {
    if (has_schedule()) max_items_ = std::min(max_items_ + 1, size_t{options_.steps} + 1);
  }
  // Returns whether a further mini-batch may be sampled.
  bool HasRoom() const {
    if (waiting_.empty()) return true;
    return waiting_.size() < max_items_ && bytes_ + waiting_.back().bytes <= options_.max_bytes &&
           (options_.rows == nullptr || options_.rows->HasRoomForStep());
  }
  // Appends the mini-batch of the next step and schedules it.
  void Push(Item item) {
    if (options_.rows != nullptr) options_.rows->Schedule(item.batch.nodes);
    if (options_.slots != nullptr) options_.slots->Schedule(item.batch.nodes);
    const uint64_t bytes = CountBytesInMemory(item.batch);
    bytes_ += bytes;
    waiting_.push_back({std::move(item), bytes});
  }
  // Removes and returns the mini-batch of the earliest step. The window must not be empty.
  Item Pop() {
    Item item = std::move(waiting_.front().item);
    bytes_ -= waiting_.front().bytes;
    waiting_.pop_front();
    return item;
  }
  bool empty() const { return waiting_.empty(); }
  // Removes all mini-batches and abandons their steps. The window then grows from the beginning.
  void Clear() {
    if (options_.rows != nullptr) options_.rows->AbandonSteps();
    if (options_.slots != nullptr) options_.slots->AbandonSteps();
    waiting_.clear();
    bytes_ = 0;
    max_items_ = 0;
  }

 private:
  bool has_schedule() const { return options_.rows != nullptr || options_.slots != nullptr; }

  struct Waiting {
    Item item;
    uint64_t bytes;
  };

  const BatchWindowOptions options_;
  std::deque<Waiting> waiting_;
  uint64_t bytes_ = 0;    // of waiting_
  size_t max_items_ = 0;  // limit for waiting_, which grows to steps + 1; 0 without a schedule
};

}  // namespace espalier::sampler
