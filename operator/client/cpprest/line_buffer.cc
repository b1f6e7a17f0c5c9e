// All bytes are in one string with a read position (taken_). The string is compacted when half of it has been read.
// Append counts the newlines, so that a waiting reader compares a number instead of searching the text. The writer must
// wait when the unread complete lines have more than high_water_bytes, and is resumed at half of that. Bytes of an
// incomplete line do not count: otherwise the end of a long line could never arrive.
#include "operator/client/cpprest/line_buffer.h"

#include <cstring>

namespace espalier::ctl::client {
namespace {

std::string FormatBytes(size_t count) { return std::to_string(count) + " bytes"; }

}  // namespace

LineBuffer::Appended LineBuffer::Append(std::string_view bytes, const std::function<void()>& resume) {
  MutexLock lock(&mutex_);
  if (end_) return Appended::kRefused;
  if (bytes.size() > limits_.max_line_bytes + limits_.high_water_bytes) {
    end_ =
        ResourceExhausted("cpprestsdk passed " + FormatBytes(bytes.size()) + " of the response at once; the limit is " +
                          FormatBytes(limits_.max_line_bytes + limits_.high_water_bytes));
    return Appended::kRefused;
  }

  size_t num_lines = 0;
  size_t line_bytes = tail_bytes_;
  bool too_long = false;
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  while (at != end) {
    const auto* newline = static_cast<const char*>(std::memchr(at, '\n', static_cast<size_t>(end - at)));
    line_bytes += static_cast<size_t>((newline == nullptr ? end : newline) - at);
    too_long = too_long || line_bytes > limits_.max_line_bytes;
    if (newline == nullptr) break;
    ++num_lines;
    line_bytes = 0;
    at = newline + 1;
  }
  if (too_long) {
    end_ = ResourceExhausted("the response has a line of more than " + FormatBytes(limits_.max_line_bytes));
    return Appended::kRefused;
  }

  bytes_.append(bytes);
  num_lines_ += num_lines;
  tail_bytes_ = line_bytes;
  if (UnreadLocked() - tail_bytes_ <= limits_.high_water_bytes) return Appended::kContinue;
  resume_ = resume;
  return Appended::kHold;
}

void LineBuffer::End(Status status) {
  std::function<void()> resume;
  {
    MutexLock lock(&mutex_);
    if (!end_) end_ = std::move(status);
    resume = std::exchange(resume_, nullptr);
  }
  if (resume) resume();
}

void LineBuffer::Cancel() {
  std::function<void()> resume;
  {
    MutexLock lock(&mutex_);
    end_ = Cancelled("the stream was cancelled");
    bytes_.clear();
    taken_ = num_lines_ = tail_bytes_ = 0;
    resume = std::exchange(resume_, nullptr);
  }
  if (resume) resume();
}

Result<std::optional<std::string>> LineBuffer::NextLine(Deadline deadline) {
  std::optional<std::string> line;
  std::function<void()> resume;
  {
    MutexLock lock(&mutex_);
    const bool is_ready =
        mutex_.AwaitBefore(deadline, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return num_lines_ > 0 || end_; });
    if (!is_ready) return DeadlineExceeded("no line arrived in time");
    if (num_lines_ == 0) return end_->ok() ? Result<std::optional<std::string>>(std::nullopt) : *end_;
    line = TakeLineLocked();
    resume = TakeResumeLocked();
  }
  if (resume) resume();
  return line;
}

Result<std::string> LineBuffer::ReadAll(Deadline deadline, size_t max_bytes) {
  std::string all;
  while (true) {
    std::function<void()> resume;
    std::optional<Status> end;
    {
      MutexLock lock(&mutex_);
      const bool is_ready = mutex_.AwaitBefore(
          deadline, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return UnreadLocked() > 0 || end_; });
      if (!is_ready) return DeadlineExceeded("the end of the response did not arrive in time");
      if (all.size() + UnreadLocked() > max_bytes) {
        return ResourceExhausted("the response has more than " + FormatBytes(max_bytes));
      }
      all.append(bytes_, taken_);
      bytes_.clear();
      taken_ = num_lines_ = tail_bytes_ = 0;
      end = end_;
      resume = TakeResumeLocked();
    }
    if (resume) resume();
    if (end) return end->ok() ? Result<std::string>(std::move(all)) : *end;
    // AwaitBefore returns at once while bytes keep arriving, so the deadline is also checked here.
    if (deadline.HasPassed()) return DeadlineExceeded("the end of the response did not arrive in time");
  }
}

std::string LineBuffer::TakeLineLocked() {
  const size_t newline = bytes_.find('\n', taken_);
  std::string line = bytes_.substr(taken_, newline - taken_);
  taken_ = newline + 1;
  --num_lines_;
  if (2 * taken_ >= bytes_.size()) {  // not for each line, so that the amortized cost per byte is constant
    bytes_.erase(0, taken_);
    taken_ = 0;
  }
  return line;
}

std::function<void()> LineBuffer::TakeResumeLocked() {
  if (UnreadLocked() - tail_bytes_ > limits_.high_water_bytes / 2) return nullptr;
  return std::exchange(resume_, nullptr);
}

}  // namespace espalier::ctl::client
