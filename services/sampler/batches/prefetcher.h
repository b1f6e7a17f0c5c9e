// Prepares mini-batches on a background thread, ahead of the thread that takes them. The data loaders of programs
// (client/loaders) and the built-in trainer (trainer/data) use it, each with its own function that makes an item.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "services/base/bounded_queue.h"
#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/base/wait_ended.h"

namespace espalier::sampler {

// Queue of items of type T for one consumer thread; any thread may call Cancel.
template <class T>
class Prefetcher {
 public:
  struct Options {
    size_t items_ahead = 2;  // largest number of queued items, not counting the one being made; at least 1
    // If this returns true for the item that was made last, the next item is made only when the queue is empty. Called
    // on the background thread. If the function is null, no item is large.
    std::function<bool(const T&)> is_large = {};
    // Makes the next item; nullopt after the last one. Called on the background thread. It may return early when a stop
    // is requested, because its result is then discarded.
    std::function<Result<std::optional<T>>(const std::stop_token&)> make;
    // Ends a wait of `make` early. Called by Cancel after the stop is requested, possibly more than once.
    std::function<void()> cancel = [] {};
  };

  explicit Prefetcher(Options options) : options_(std::move(options)), ready_(options_.items_ahead) {}
  // Calls Stop if Start has been called and Stop has not.
  ~Prefetcher() {
    if (thread_.joinable()) Stop();
  }
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  // Starts the background thread. Call it once.
  void Start() {
    thread_ = std::thread([this] { Fill(); });
  }

  // Blocks until the next item is ready and returns it. Items come in the order in which they are made. Returns nullopt
  // after the last item, and also after a call that returned an error of `make`. Returns Cancelled after Cancel. If the
  // item is not ready in time, returns DeadlineExceeded, or Cancelled if the deadline's stop was requested; the caller
  // may then request the item again.
  Result<std::optional<T>> Next(const Deadline& deadline) {
    std::optional<Result<T>> item = ready_.PopBefore(deadline);
    if (is_cancelled()) return Cancelled("the epoch was cancelled");
    if (!item) {
      const bool has_ended = ready_.IsClosed() && ready_.Size() == 0;
      if (has_ended) return std::optional<T>();
      return WaitEnded(deadline, "the next batch was not ready in time");
    }
    if (!item->ok()) return std::move(*item).status();
    return std::optional<T>(*std::move(*item));
  }

  // Ends the work early: a pending Next in another thread and all later calls return Cancelled. Does not wait for the
  // background thread.
  void Cancel() {
    stop_.request_stop();
    ready_.Close();
    options_.cancel();
  }
  bool is_cancelled() const { return stop_.stop_requested(); }

  // Cancels, and waits until `make` returns. Only the consumer thread may call it.
  void Stop() {
    Cancel();
    if (thread_.joinable()) thread_.join();
  }

 private:
  // Body of the background thread: fills the queue until the last item, an error or Cancel.
  void Fill() {
    bool is_large = false;
    for (;;) {
      if (is_large) ready_.AwaitEmpty();
      if (is_cancelled()) break;
      Result<std::optional<T>> made = options_.make(stop_.get_token());
      if (!made.ok()) {
        ready_.Push(std::move(made).status());
        break;
      }
      if (!made->has_value()) break;
      is_large = options_.is_large && options_.is_large(**made);
      if (!ready_.Push(**std::move(made))) break;
    }
    ready_.Close();
  }

  const Options options_;
  std::stop_source stop_;
  BoundedQueue<Result<T>> ready_;
  std::thread thread_;  // uses the members above; Stop joins it
};

}  // namespace espalier::sampler
