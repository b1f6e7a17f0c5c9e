// The body of an answer on its way from the connection's thread to the reader's: bytes go in as they come, lines come
// out. Bounded on both sides: a line that is too long ends it, and a writer that is too far ahead is told to wait.
// Knows nothing of cpprestsdk, so that framing can be tested (and fuzzed) alone.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"

namespace espalier::ctl::client {

// Thread-safe: one writer, one reader, anybody may end or cancel.
class LineBuffer {
 public:
  struct Limits {
    size_t max_line_bytes = 0;
    size_t high_water_bytes = 0;  // of whole lines that wait for the reader
  };
  explicit LineBuffer(Limits limits) : limits_(limits) {}

  enum class Appended {
    kGoOn,
    kHold,     // taken in, but no more now: `resume` is called once, by whoever makes room or ends the buffer
    kRefused,  // a line or a piece that is too long, or the buffer has ended; nothing was taken in
  };
  // `bytes` are not looked at where there are more than both limits together: their number may be a lie.
  Appended Append(std::string_view bytes, const std::function<void()>& resume);
  // ok: what came is all there is. The first call counts.
  void End(Status how);
  // Ends with Cancelled and forgets what came.
  void Cancel();

  // As LineStream::Next. After an error of the connection, the whole lines before it come first.
  Result<std::optional<std::string>> NextLine(Deadline deadline);
  // The rest, newlines and all. ResourceExhausted for more than `max_bytes`, DeadlineExceeded where the end has not
  // come by then.
  Result<std::string> ReadAll(Deadline deadline, size_t max_bytes);

 private:
  size_t UnreadLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return bytes_.size() - taken_; }
  std::string TakeLineLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What to call, unlocked, because there is room again; empty where nobody waits or there is none.
  std::function<void()> ResumeLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Limits limits_;
  Mutex mutex_;
  std::string bytes_ ABSL_GUARDED_BY(mutex_);
  size_t taken_ ABSL_GUARDED_BY(mutex_) = 0;       // of bytes_, by the reader
  size_t num_lines_ ABSL_GUARDED_BY(mutex_) = 0;   // whole ones among the rest
  size_t tail_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // after the last newline
  std::optional<Status> end_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> resume_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::ctl::client
