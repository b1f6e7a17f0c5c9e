// A stream reads the changes of its kind by number (place_), under the mutex of the history, and skips those that do
// not match. A stream that falls behind the kept changes ends, as a watch of the real server does. Cuts and bookmarks
// are counters in the history: a stream compares them with the values that it has seen.
#include "operator/client/testing/fake_api_server_watch.h"

#include <algorithm>

namespace espalier::ctl::client::fake {
namespace {

using kube::Json;
using kube::WatchEventType;

// A fake clock does not wake waiting threads when it is advanced, so streams with a fake clock poll at this interval.
constexpr std::chrono::milliseconds kRecheckInterval{2};

const char* ToString(WatchEventType type) {
  switch (type) {
    case WatchEventType::kAdded: return "ADDED";
    case WatchEventType::kModified: return "MODIFIED";
    case WatchEventType::kDeleted: return "DELETED";
    case WatchEventType::kBookmark: return "BOOKMARK";
    case WatchEventType::kError: return "ERROR";
  }
  return "";
}

std::string Line(WatchEventType type, const std::string& object) {
  return "{\"type\":\"" + std::string(ToString(type)) + "\",\"object\":" + object + "}";
}

class OneLine final : public LineStream {
 public:
  explicit OneLine(std::string line) : line_(std::move(line)) {}
  Result<std::optional<std::string>> Next(Deadline) override {
    if (is_cancelled_) return Cancelled("the watch was cancelled");
    return std::exchange(line_, std::nullopt);
  }
  void Cancel() override { is_cancelled_ = true; }

 private:
  std::optional<std::string> line_;
  std::atomic<bool> is_cancelled_ = false;
};

}  // namespace

class History::Stream final : public LineStream {
 public:
  Stream(std::shared_ptr<History> history, WatchSettings settings, uint64_t place, std::vector<StoredPtr> initial)
      : history_(std::move(history)),
        settings_(std::move(settings)),
        opened_at_(settings_.clock->Now()),
        place_(place),
        initial_(std::move(initial)),
        next_bookmark_(opened_at_ + settings_.bookmark_interval) {
    std::reverse(initial_.begin(), initial_.end());  // NextLine takes them from the back
  }

  ~Stream() override {
    MutexLock lock(&history_->mutex_);
    --history_->num_open_;
  }

  Result<std::optional<std::string>> Next(Deadline deadline) override {
    MutexLock lock(&history_->mutex_);
    while (true) {
      if (is_cancelled_) return Cancelled("the watch was cancelled");
      if (has_ended_) return std::optional<std::string>();
      if (history_->num_cuts_ != num_cuts_) {
        if (history_->last_cut_broke_) return Unavailable("the connection broke");
        return End();
      }
      if (!history_->is_muted_) {
        if (std::optional<std::string> line = NextLine()) return line;
        if (has_ended_) return std::optional<std::string>();
      }
      if (deadline.HasPassed(*settings_.clock)) return DeadlineExceeded("nothing came");
      Wait(deadline);
    }
  }

  void Cancel() override {
    MutexLock lock(&history_->mutex_);
    is_cancelled_ = true;
  }

 private:
  friend class History;

  std::optional<std::string> End() {
    has_ended_ = true;
    return std::nullopt;
  }

  // Returns the next line if there is one now.
  std::optional<std::string> NextLine() ABSL_EXCLUSIVE_LOCKS_REQUIRED(history_->mutex_) {
    if (!initial_.empty()) {
      const StoredPtr object = std::move(initial_.back());
      initial_.pop_back();
      return Line(WatchEventType::kAdded, TextOf(history_->kind_, *object));
    }
    if (place_ < history_->num_dropped_) return End();  // too slow; the real server ends such watches too
    const uint64_t complete_to = history_->newest_.load();
    while (place_ < history_->num_dropped_ + history_->changes_.size()) {
      const Change& change = history_->changes_[place_ - history_->num_dropped_];
      ++place_;
      if (std::optional<std::string> line = LineOf(change)) return line;
    }
    const SteadyTime now = settings_.clock->Now();
    const bool is_over = settings_.timeout && now >= opened_at_ + *settings_.timeout;
    const bool is_asked = num_bookmark_rounds_ != history_->num_bookmark_rounds_;
    if (settings_.wants_bookmarks && (is_asked || now >= next_bookmark_ || (is_over && !said_last_bookmark_))) {
      num_bookmark_rounds_ = history_->num_bookmark_rounds_;
      next_bookmark_ = now + settings_.bookmark_interval;
      said_last_bookmark_ = is_over;
      return Bookmark(complete_to);
    }
    if (is_over) return End();
    return std::nullopt;
  }

  // Returns the line of a change, or nullopt if it does not match. An object that starts or stops matching is reported
  // as ADDED or DELETED.
  std::optional<std::string> LineOf(const Change& change) const {
    const auto matches = [&](const StoredPtr& object) {
      return object != nullptr && (settings_.name_space.empty() || object->key.name_space == settings_.name_space) &&
             settings_.selectors.Match(*object);
    };
    const bool did = matches(change.before);
    const bool does = change.type != WatchEventType::kDeleted && matches(change.object);
    if (!did && !does) return std::nullopt;
    const WatchEventType type = !did    ? WatchEventType::kAdded
                                : !does ? WatchEventType::kDeleted
                                        : WatchEventType::kModified;
    return Line(type, TextOf(history_->kind_, *change.object));
  }

  std::string Bookmark(uint64_t version) const {
    return Line(WatchEventType::kBookmark, kube::Print({{"apiVersion", history_->kind_.resource->api_version()},
                                                        {"kind", history_->kind_.resource->kind},
                                                        {"metadata", {{"resourceVersion", std::to_string(version)}}}}));
  }

  void Wait(Deadline deadline) ABSL_EXCLUSIVE_LOCKS_REQUIRED(history_->mutex_) {
    Clock& clock = *settings_.clock;
    if (settings_.timeout) deadline = deadline.AtMost(opened_at_ + *settings_.timeout - clock.Now(), clock);
    if (settings_.wants_bookmarks) deadline = deadline.AtMost(next_bookmark_ - clock.Now(), clock);
    const Deadline look_again = &clock == &Clock::Real() ? deadline : Deadline::After(kRecheckInterval);
    const uint64_t end = history_->num_dropped_ + history_->changes_.size();
    const bool was_muted = history_->is_muted_;
    history_->mutex_.AwaitBefore(look_again, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(history_->mutex_) {
      const bool has_more = history_->num_dropped_ + history_->changes_.size() != end;
      return is_cancelled_ || history_->num_cuts_ != num_cuts_ || history_->is_muted_ != was_muted ||
             (!was_muted && (has_more || history_->num_bookmark_rounds_ != num_bookmark_rounds_));
    });
  }

  const std::shared_ptr<History> history_;
  const WatchSettings settings_;
  const SteadyTime opened_at_;
  // Guarded by history_->mutex_.
  uint64_t place_;  // number of the next change
  std::vector<StoredPtr> initial_;
  SteadyTime next_bookmark_;
  bool said_last_bookmark_ = false;
  bool has_ended_ = false;
  bool is_cancelled_ = false;
  int64_t num_cuts_ = 0;  // when the stream was opened
  int64_t num_bookmark_rounds_ = 0;
};

void History::Append(Change change) {
  MutexLock lock(&mutex_);
  changes_.push_back(std::move(change));
  if (changes_.size() > max_changes_) DropOldest();
}

void History::DropOldest() {
  oldest_ = changes_.front().object->version;
  changes_.pop_front();
  ++num_dropped_;
}

void History::Forget(uint64_t version) {
  MutexLock lock(&mutex_);
  // The changes are kept for the open watches.
  oldest_ = std::max(oldest_, version);
}

void History::Cut(bool broken) {
  MutexLock lock(&mutex_);
  ++num_cuts_;
  last_cut_broke_ = broken;
}

void History::Mute(bool mute) {
  MutexLock lock(&mutex_);
  is_muted_ = mute;
}

void History::SendBookmarks() {
  MutexLock lock(&mutex_);
  ++num_bookmark_rounds_;
}

int64_t History::num_open() const {
  MutexLock lock(&mutex_);
  return num_open_;
}

std::unique_ptr<LineStream> History::Open(std::shared_ptr<History> history, WatchSettings settings, uint64_t version,
                                          std::vector<StoredPtr> initial) {
  History& it = *history;
  MutexLock lock(&it.mutex_);
  if (version < it.oldest_) return nullptr;
  const auto first = std::upper_bound(it.changes_.begin(), it.changes_.end(), version,
                                      [](uint64_t v, const Change& change) { return v < change.object->version; });
  const uint64_t place = it.num_dropped_ + static_cast<uint64_t>(first - it.changes_.begin());
  auto stream = std::make_unique<Stream>(std::move(history), std::move(settings), place, std::move(initial));
  stream->num_cuts_ = it.num_cuts_;
  stream->num_bookmark_rounds_ = it.num_bookmark_rounds_;
  ++it.num_open_;
  return stream;
}

std::unique_ptr<LineStream> ExpiredStream(uint64_t requested, uint64_t oldest) {
  const Refusal expired{410, "Expired",
                        "too old resource version: " + std::to_string(requested) + " (" + std::to_string(oldest) + ")"};
  return std::make_unique<OneLine>(Line(WatchEventType::kError, kube::Print(StatusObject(expired))));
}

}  // namespace espalier::ctl::client::fake
