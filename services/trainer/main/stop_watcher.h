// What SIGTERM means to a trainer.
#pragma once

#include <atomic>
#include <chrono>
#include <stop_token>
#include <thread>

namespace espalier::trainer {

// Turns SIGTERM into the flag that rides on the next step's all-reduce. Before training there is nothing to save
// and nobody who looks at the flag: then the process ends. Thread-safe; one per process.
class StopWatcher {
 public:
  // A step or an evaluation under way ends with a checkpoint; one that waits for a server that is gone would wait until
  // its deadline. So long it may do without progress: a step, and a piece of something longer, which may be many
  // times as large, and whose end must not cost the last checkpoint its clients.
  explicit StopWatcher(std::chrono::milliseconds longest_stall = std::chrono::seconds(4),
                       std::chrono::milliseconds longest_piece = std::chrono::seconds(12))
      : longest_stall_(longest_stall),
        longest_piece_(longest_piece),
        thread_([this](const std::stop_token& ended) { Watch(ended); }) {}

  const std::atomic<bool>& requested() const { return requested_; }
  // Asks when the training was told to stop and does not get on: it waits for a server that is gone. (Who waits for a
  // trainer that does is released by that one.) For the process's clients, whose calls and waits it ends.
  std::stop_token stalled() const { return stalled_.get_token(); }

  void TrainingBegins() { training_ = true; }
  void OnStep() {
    ++steps_;
    ++progress_;
    is_in_pieces_ = false;  // last, as WatchForStall reads it first: never a step's limit for a piece
  }
  // A piece of something long has been done, or begins: of an evaluation, or of rows that are copied.
  void OnProgress() {
    is_in_pieces_ = true;
    ++progress_;
  }

  // Around what a step computes, however long that takes: no server is asked.
  void OnComputing() { is_computing_ = true; }
  void OnComputed() {
    ++progress_;
    is_computing_ = false;  // last: WatchForStall, which sees it, sees the progress too
  }

  // While the training thread meets the other trainers.
  class Meeting {
   public:
    explicit Meeting(StopWatcher& watcher) : watcher_(watcher) { watcher_.is_meeting_ = true; }
    ~Meeting() {
      ++watcher_.progress_;
      watcher_.is_meeting_ = false;
    }
    Meeting(const Meeting&) = delete;
    Meeting& operator=(const Meeting&) = delete;

   private:
    StopWatcher& watcher_;
  };

  // All trainers have stopped, and what is to be saved is in memory; saving has its own deadlines.
  void OnLastStep() { stepping_ = false; }
  // It is saved, or cannot be. A mini-batch that was fetched ahead may still be under way: until the next progress it
  // has a step's limit, for nobody needs it.
  void OnSaved() {
    progress_when_saved_ = progress_.load();
    saved_ = true;
  }
  // Nothing that is asked of servers from now on, or is under way, is needed.
  void GiveUpServers() { stalled_.request_stop(); }

 private:
  void Watch(const std::stop_token& ended);
  // From the step on whose number is `first`.
  void WatchForStall(const std::stop_token& ended, uint64_t first);
  void WatchBatchAhead(const std::stop_token& ended);

  const std::chrono::milliseconds longest_stall_, longest_piece_;
  std::atomic<bool> requested_ = false;            // atomic, because the training thread reads it at every step
  std::atomic<bool> training_ = false;             // atomic, because the training thread sets it
  std::atomic<uint64_t> steps_ = 0;                // atomic, because the training thread counts
  std::atomic<uint64_t> progress_ = 0;             // likewise
  std::atomic<bool> is_in_pieces_ = false;         // likewise: since the last step
  std::atomic<bool> is_meeting_ = false;           // likewise
  std::atomic<bool> is_computing_ = false;         // likewise
  std::atomic<bool> stepping_ = true;              // atomic, because the training thread clears it
  std::atomic<bool> saved_ = false;                // likewise
  std::atomic<uint64_t> progress_when_saved_ = 0;  // likewise; of use once saved_ is true
  std::stop_source stalled_;
  std::jthread thread_;  // last: joined before the rest goes away
};

}  // namespace espalier::trainer
