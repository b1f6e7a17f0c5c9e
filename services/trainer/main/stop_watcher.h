// Handles SIGTERM and SIGINT in a trainer: requests a stop, and cancels the calls to all servers if one of them does
// not answer.
#pragma once

#include <atomic>
#include <chrono>
#include <stop_token>
#include <thread>

namespace espalier::trainer {

// At SIGTERM or SIGINT ("the signal"), sets a flag that the next step's all-reduce shares with all ranks. Before
// training begins there is nothing to save, so the signal ends the process. The watcher has its own thread for the
// signal, so all other threads may block it. Thread-safe; one per process.
class StopWatcher {
 public:
  // How long training may make no progress after the signal before the calls to servers are canceled: one limit for a
  // step, a larger one for a chunk of longer work such as an evaluation. Without a limit, a step that waits for a
  // failed server would block until its deadline. The limit for a chunk is larger for two reasons: a chunk may take
  // many times as long as a step, and after the calls are canceled, the last checkpoint cannot read learnable rows from
  // the servers.
  explicit StopWatcher(std::chrono::milliseconds longest_stall = std::chrono::seconds(4),
                       std::chrono::milliseconds longest_chunk = std::chrono::seconds(12))
      : longest_stall_(longest_stall),
        longest_chunk_(longest_chunk),
        thread_([this](const std::stop_token& ended) { Watch(ended); }) {}

  // True once the signal was received.
  const std::atomic<bool>& requested() const { return requested_; }
  // Returns the token that ends the calls and waits of the process's clients. CancelServerCalls requests its stop. So
  // does the watcher's thread if training makes no progress after the signal because a server does not answer. (The
  // trainer then fails, and other ranks stop waiting for it.)
  std::stop_token server_call_token() const { return server_call_stop_.get_token(); }

  // From now on, the signal does not end the process at once.
  void OnTrainingBegin() { training_ = true; }
  void OnStep() {
    ++steps_;
    ++progress_;
    is_in_chunks_ = false;  // last; WatchForStall reads it first, so that a chunk never gets the limit of a step
  }
  // Called at least once per chunk of longer work, such as an evaluation or a copy of rows.
  void OnProgress() {
    is_in_chunks_ = true;
    ++progress_;
  }

  // Called around the computation of a step, which calls no server and may take any time.
  void OnComputeBegin() { is_computing_ = true; }
  void OnComputeEnd() {
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
  // Cancels the pending and all future calls to servers.
  void CancelServerCalls() { server_call_stop_.request_stop(); }

 private:
  void Watch(const std::stop_token& ended);
  // Watches training after a stop request that arrived at step `first`, until training stops or stalls.
  void WatchForStall(const std::stop_token& ended, uint64_t first);
  // Watches the prefetched mini-batch after the state is saved.
  void WatchBatchAhead(const std::stop_token& ended);

  const std::chrono::milliseconds longest_stall_, longest_chunk_;
  std::atomic<bool> requested_ = false;  // set by thread_, read by the training thread at every step
  // The training thread sets the following atomics, and thread_ reads them.
  std::atomic<bool> training_ = false;
  std::atomic<uint64_t> steps_ = 0;
  std::atomic<uint64_t> progress_ = 0;
  std::atomic<bool> is_in_chunks_ = false;  // whether OnProgress was called after the last step
  std::atomic<bool> is_communicating_ = false;
  std::atomic<bool> is_computing_ = false;
  std::atomic<bool> stepping_ = true;
  std::atomic<bool> saved_ = false;
  std::atomic<uint64_t> progress_when_saved_ = 0;  // valid once saved_ is true
  std::stop_source server_call_stop_;
  std::jthread thread_;  // last: joined before the other members are destroyed
};

}  // namespace espalier::trainer
