// Handles SIGTERM in a trainer.
#pragma once

#include <atomic>
#include <chrono>
#include <stop_token>
#include <thread>

namespace espalier::trainer {

// Sets a flag at SIGTERM, which the next step's all-reduce shares with all ranks. Before training begins there is
// nothing to save, and SIGTERM ends the process. Its thread handles the signal, so other threads may block it.
// Thread-safe; one per process.
class StopWatcher {
 public:
  // How long training may make no progress after SIGTERM before the calls to servers are canceled: one limit for a
  // step, a larger one for a piece (chunk) of longer work such as an evaluation. Without a limit, a step that waits for
  // a failed server would block until its deadline. The limit of a piece is larger for two reasons: a piece may take
  // many times as long as a step, and after the calls are canceled, the last checkpoint cannot call servers.
  explicit StopWatcher(std::chrono::milliseconds longest_stall = std::chrono::seconds(4),
                       std::chrono::milliseconds longest_piece = std::chrono::seconds(12))
      : longest_stall_(longest_stall),
        longest_piece_(longest_piece),
        thread_([this](const std::stop_token& ended) { Watch(ended); }) {}

  // Whether SIGTERM was received.
  const std::atomic<bool>& requested() const { return requested_; }
  // Returns the token that ends the calls and waits of the process's clients. Its stop is requested when, after
  // SIGTERM, training makes no progress because a server does not answer. (Then this trainer fails, which also ends the
  // waits of other ranks for it.)
  std::stop_token stalled() const { return stalled_.get_token(); }

  void TrainingBegins() { training_ = true; }
  void OnStep() {
    ++steps_;
    ++progress_;
    is_in_pieces_ = false;  // last; WatchForStall reads it first, so that a piece never gets the limit of a step
  }
  // Called when a piece of longer work, such as an evaluation or a copy of rows, begins or ends.
  void OnProgress() {
    is_in_pieces_ = true;
    ++progress_;
  }

  // Called around the computation of a step, which calls no server and may take any time.
  void OnComputing() { is_computing_ = true; }
  void OnComputed() {
    ++progress_;
    is_computing_ = false;  // last: if WatchForStall reads false here, it also reads the progress
  }

  // Scope in which the training thread communicates with the other trainers: waiting for them is not a stall.
  class CommunicationScope {
   public:
    explicit CommunicationScope(StopWatcher& watcher) : watcher_(watcher) { watcher_.is_communicating_ = true; }
    ~CommunicationScope() {
      ++watcher_.progress_;
      watcher_.is_communicating_ = false;
    }
    CommunicationScope(const CommunicationScope&) = delete;
    CommunicationScope& operator=(const CommunicationScope&) = delete;

   private:
    StopWatcher& watcher_;
  };

  // Called when all trainers have stopped and the state to save is in memory; saving has its own deadlines.
  void OnLastStep() { stepping_ = false; }
  // Called when the state is saved or cannot be saved. A prefetched mini-batch, which is no longer needed, may still be
  // in flight: if there is no progress within the limit of a step, the calls to servers are canceled.
  void OnSaved() {
    progress_when_saved_ = progress_.load();
    saved_ = true;
  }
  // Cancels the pending and all future calls to servers, whose results are not needed.
  void CancelServerCalls() { stalled_.request_stop(); }

 private:
  void Watch(const std::stop_token& ended);
  // Watches training after a request that arrived at step `first`, until training stops or stalls.
  void WatchForStall(const std::stop_token& ended, uint64_t first);
  // Watches the prefetched mini-batch after the state is saved.
  void WatchBatchAhead(const std::stop_token& ended);

  const std::chrono::milliseconds longest_stall_, longest_piece_;
  std::atomic<bool> requested_ = false;            // atomic, because the training thread reads it at every step
  std::atomic<bool> training_ = false;             // atomic, because the training thread sets it
  std::atomic<uint64_t> steps_ = 0;                // atomic, because the training thread counts
  std::atomic<uint64_t> progress_ = 0;             // likewise
  std::atomic<bool> is_in_pieces_ = false;         // likewise; whether a piece began after the last step
  std::atomic<bool> is_communicating_ = false;     // likewise
  std::atomic<bool> is_computing_ = false;         // likewise
  std::atomic<bool> stepping_ = true;              // atomic, because the training thread clears it
  std::atomic<bool> saved_ = false;                // likewise
  std::atomic<uint64_t> progress_when_saved_ = 0;  // likewise; valid once saved_ is true
  std::stop_source stalled_;
  std::jthread thread_;  // last: joined before the other members are destroyed
};

}  // namespace espalier::trainer
