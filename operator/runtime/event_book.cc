// A series is being written, or waits in queue_ for its due time, or is idle (all occurrences are written). Schedule is
// the only place that changes queue_ and num_urgent_, and by_time_ finds idle series to remove. After a failed write
// that may be retried, the series waits in queue_ for a delay that grows with each failure; after any other failure it
// is removed. A failed patch of an Event that has expired in the cluster is retried at once, as a create.
#include "operator/runtime/event_book.h"

#include <algorithm>

#include "operator/kube/json.h"
#include "operator/kube/time.h"
#include "services/base/backoff.h"
#include "services/base/check.h"
#include "services/base/hash.h"
#include "services/base/shorten.h"

namespace espalier::ctl::runtime {
namespace {

constexpr size_t kMaxNoteBytes = 1024;
constexpr size_t kMaxInstanceBytes = 128;
constexpr size_t kMaxNameBytes = 253 - 17;  // of the object's name, to which EventName adds "." and 16 digits
constexpr RetryPolicy kTriesBackoff{.initial_delay = std::chrono::seconds(1), .max_delay = std::chrono::seconds(30)};

// Returns the text as valid UTF-8 of at most `max_bytes` bytes.
std::string Cut(const std::string& text, size_t max_bytes) {
  // Print replaces invalid UTF-8.
  const Result<kube::Json> clean = kube::ParseJson(kube::Print(kube::Json(text)));
  return ShortenMiddle(clean.ok() && clean->is_string() ? clean->get<std::string>() : "", max_bytes);
}

std::string EventName(const std::string& about, uint64_t hash) {
  std::string name = about.substr(0, kMaxNameBytes);
  while (!name.empty() && (name.back() == '.' || name.back() == '-')) name.pop_back();
  return name + "." + ToHex(hash);
}

kube::Json MakeSeries(int64_t count, kube::WallTime last_at) {
  return {{"count", count}, {"lastObservedTime", kube::FormatMicroTime(last_at)}};
}

// Returns true if a retry may succeed.
bool MaySucceedLater(StatusCode code) {
  return IsRetryable(code) || code == StatusCode::kUnauthenticated || code == StatusCode::kUnknown ||
         code == StatusCode::kFailedPrecondition;
}

}  // namespace

EventBook::EventBook(std::string controller, std::string instance)
    : controller_(std::move(controller)), instance_(Cut(instance, kMaxInstanceBytes)), jitter_(Hash64(instance_), 0) {
  ESPALIER_CHECK(!controller_.empty() && !instance_.empty()) << "an event needs a controller and an instance";
}

kube::Json EventBook::MakeEvent(const kube::Resource& resource, const kube::ObjectMeta& about, const EventNote& note,
                                kube::WallTime at, const kube::ObjectKey& key) const {
  return {{"apiVersion", kube::kEvents.api_version()},
          {"kind", "Event"},
          {"metadata", {{"name", key.name}, {"namespace", key.name_space}}},
          {"eventTime", kube::FormatMicroTime(at)},
          {"reportingController", controller_},
          {"reportingInstance", instance_},
          {"type", note.type == EventType::kNormal ? "Normal" : "Warning"},
          {"reason", note.reason},
          {"action", note.action},
          {"note", Cut(note.note, kMaxNoteBytes)},
          {"regarding",
           {{"apiVersion", resource.api_version()},
            {"kind", std::string(resource.kind)},
            {"name", about.key.name},
            {"namespace", about.key.name_space},
            {"uid", about.uid},
            {"resourceVersion", about.resource_version}}}};
}

bool EventBook::Record(const kube::Resource& resource, const kube::ObjectMeta& about, const EventNote& note,
                       kube::WallTime at, SteadyTime now) {
  ESPALIER_CHECK(!note.reason.empty() && !note.action.empty()) << "an event needs a reason and an action";
  ForgetIdle(now);
  Identity identity{about.uid,        std::string(resource.plural) + "." + std::string(resource.group),
                    about.key,        note.type,
                    note.reason,      note.action,
                    Hash64(note.note)};
  if (const auto known = ids_.find(identity); known != ids_.end()) {
    Series& series = series_.at(known->second);
    by_time_.erase({series.last_seen, known->second});
    by_time_.emplace(now, known->second);
    ++series.count;
    series.last_at = at;
    series.last_seen = now;
    // If the last write of the series failed, the due time stays that of the retry.
    if (series.tries == 0) Schedule(known->second, &series, DueTime(series, now));
    return true;
  }
  if (num_urgent_ >= kMaxQueued || (series_.size() >= kMaxSeries && !MakeRoom())) return false;

  uint64_t hash = Hash64(identity.uid + "/" + identity.resource + "/" + kube::ToString(about.key), Hash64(instance_));
  hash = Hash64(note.reason + "/" + note.action + "/" + note.note, HashCombine(hash, static_cast<uint64_t>(note.type)));
  hash = HashCombine(hash, static_cast<uint64_t>(at.time_since_epoch().count()));
  const std::string& name_space = about.key.name_space;
  const kube::ObjectKey key{name_space.empty() ? "default" : name_space, EventName(about.key.name, hash)};

  const uint64_t id = next_id_++;
  Series& series = series_[id];
  series.event = MakeEvent(resource, about, note, at, key);
  series.key = key;
  series.last_at = at;
  series.last_seen = now;
  by_time_.emplace(now, id);
  ids_.emplace(identity, id);
  series.identity = std::move(identity);
  Schedule(id, &series, DueTime(series, now));
  return true;
}

std::optional<SteadyTime> EventBook::DueTime(const Series& series, SteadyTime now) const {
  if (series.is_being_written || series.count == series.written_count) return std::nullopt;
  if (series.written_count <= 1) return now;
  return std::min(series.written_at + kRefresh, series.last_seen + kFinish);
}

void EventBook::Schedule(uint64_t id, Series* series, std::optional<SteadyTime> due) {
  if (series->due) queue_.erase({*series->due, id});
  num_urgent_ -= series->is_urgent ? 1 : 0;
  series->due = due;
  series->is_urgent = due.has_value() && series->written_count <= 1;
  num_urgent_ += series->is_urgent ? 1 : 0;
  if (due) queue_.emplace(*due, id);
}

std::optional<EventBook::Write> EventBook::NextWrite(Due due, SteadyTime now) {
  ForgetIdle(now);
  if (queue_.empty() || (due == Due::kNow && queue_.begin()->first > now)) return std::nullopt;
  const uint64_t id = queue_.begin()->second;
  Series& series = series_.at(id);
  Schedule(id, &series, std::nullopt);
  series.is_being_written = true;

  Write write{.series = id, .key = series.key, .count = series.count};
  if (series.written_count > 0) {
    write.kind = Write::Kind::kPatch;
    write.body = {{"series", MakeSeries(series.count, series.last_at)}};
    return write;
  }
  write.body = series.event;
  if (series.count > 1) write.body["series"] = MakeSeries(series.count, series.last_at);
  return write;
}

EventBook::Series* EventBook::Find(uint64_t id) {
  const auto it = series_.find(id);
  return it == series_.end() ? nullptr : &it->second;
}

void EventBook::OnWritten(const Write& write, SteadyTime now) {
  Series* const series = Find(write.series);
  if (series == nullptr) return;
  series->is_being_written = false;
  series->tries = 0;
  series->written_count = write.count;
  series->written_at = now;
  Schedule(write.series, series, DueTime(*series, now));
}

bool EventBook::OnFailed(const Write& write, const Status& status, SteadyTime now) {
  Series* const series = Find(write.series);
  if (series == nullptr) return false;
  series->is_being_written = false;
  // The API server deletes Events after an hour by default.
  const bool is_gone = write.kind == Write::Kind::kPatch && status.code() == StatusCode::kNotFound;
  if (++series->tries >= kMaxTries || !(is_gone || MaySucceedLater(status.code()))) {
    Forget(write.series);
    return false;
  }
  if (is_gone) series->written_count = 0;
  const auto delay = is_gone ? std::chrono::milliseconds(0) : DelayBefore(series->tries, kTriesBackoff, jitter_.Next());
  Schedule(write.series, series, now + delay);
  return true;
}

std::optional<SteadyTime> EventBook::NextTime() const {
  if (queue_.empty()) return std::nullopt;
  return queue_.begin()->first;
}

bool EventBook::MakeRoom() {
  for (const auto& [seen, id] : by_time_) {
    const Series& series = series_.at(id);
    if (series.due || series.is_being_written) continue;
    Forget(id);
    return true;
  }
  return false;
}

void EventBook::Forget(uint64_t id) {
  const auto it = series_.find(id);
  Schedule(id, &it->second, std::nullopt);
  by_time_.erase({it->second.last_seen, id});
  ids_.erase(it->second.identity);
  series_.erase(it);
}

void EventBook::ForgetIdle(SteadyTime now) {
  for (auto it = by_time_.begin(); it != by_time_.end() && it->first + kFinish <= now;) {
    const uint64_t id = it->second;
    const Series& series = series_.at(id);
    ++it;
    if (!series.due && !series.is_being_written) Forget(id);
  }
}

}  // namespace espalier::ctl::runtime
