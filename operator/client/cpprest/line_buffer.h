// Passes the body of a response from the connection's thread to the reader: the writer appends bytes, the reader takes
// lines. The size of the buffer is limited: a line that is too long ends the buffer with an error, and the writer waits
// while there are too many unread bytes. The class does not depend on cpprestsdk, so that it can be tested and fuzzed
// alone.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"

namespace espalier::ctl::client {

// Thread-safe for one writer and one reader. Any thread may call End and Cancel.
class LineBuffer {
 public:
  struct Limits {
    size_t max_line_bytes = 0;
    size_t high_water_bytes = 0;  // of unread complete lines
  };
  explicit LineBuffer(Limits limits) : limits_(limits) {}

  enum class Appended {
    kContinue,
    kHold,     // appended; the writer must wait for `resume`, called once when there is room or the buffer ends
    kRefused,  // a line or `bytes` is too long, or the buffer has ended; nothing was appended
  };
  // Appends bytes. If `bytes` is longer than the sum of both limits, refuses it without reading it, because cpprestsdk
  // may pass a wrong size. Ends the buffer with ResourceExhausted if something is too long.
  Appended Append(std::string_view bytes, const std::function<void()>& resume);
  // Ends the buffer with this status; OK: the body is complete. No effect if the buffer has ended.
  void End(Status status);
  // Ends the buffer with Cancelled and drops the unread bytes.
  void Cancel();

  // Like LineStream::Next. Returns the complete lines that arrived before an error, then the error.
  Result<std::optional<std::string>> NextLine(Deadline deadline);
  // Returns the rest of the body, including newlines. Returns ResourceExhausted if it has more than `max_bytes`, and
  // DeadlineExceeded if it is not complete by the deadline.
  Result<std::string> ReadAll(Deadline deadline, size_t max_bytes);

 private:
  size_t UnreadLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return bytes_.size() - taken_; }
  std::string TakeLineLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the writer's `resume` if there is room again, else null. The caller must call it after releasing the lock.
  std::function<void()> TakeResumeLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Limits limits_;
  Mutex mutex_;
  std::string bytes_ ABSL_GUARDED_BY(mutex_);
  size_t taken_ ABSL_GUARDED_BY(mutex_) = 0;       // bytes of bytes_ that were read
  size_t num_lines_ ABSL_GUARDED_BY(mutex_) = 0;   // unread complete lines
  size_t tail_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // bytes after the last newline
  std::optional<Status> end_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> resume_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::ctl::client
