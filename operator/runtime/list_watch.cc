// List puts all pages into the sink and then deletes the known objects that were not listed. Watch follows the stream
// line by line and passes events to the sink and to the reflector. Cancel may be called at any time by another thread:
// it stops requests by a stop token and an open stream by LineStream::Cancel. Objects that cannot be decoded are
// skipped and logged once, so that one invalid object does not stop the informer.
#include "operator/runtime/list_watch.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "operator/kube/api_error.h"
#include "operator/kube/json.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/watch_event.h"
#include "services/base/check.h"
#include "services/telemetry/log.h"

namespace espalier::ctl::runtime {
namespace {

using telemetry::Level;
using telemetry::Log;

constexpr size_t kMaxLogged = 1000;  // logged objects to remember; the set is cleared when it is full
constexpr std::chrono::minutes kMaxSyncWait{1};

}  // namespace

ListWatch::ListWatch(client::ApiClient& client, InformerOptions options, ObjectSink& sink,
                     telemetry::MetricRegistry& metrics, Clock& clock)
    : client_(client),
      options_(std::move(options)),
      sink_(sink),
      metrics_(metrics, std::string(options_.resource->plural)),
      clock_(clock),
      reflector_(options_.seed),
      lengths_(options_.seed, 1) {
  ESPALIER_CHECK(options_.min_watch.count() > 0 && options_.min_watch <= options_.max_watch)
      << "expected 0 < min_watch <= max_watch";
}

Status ListWatch::Turn() {
  if (is_cancelled()) return Cancelled("stopped");
  const ReflectorAction action = reflector_.Next();
  const bool is_list = action.step == ReflectorStep::kList;
  Status status = is_list ? List(action.resource_version) : Watch(action.resource_version);
  if (is_cancelled()) return Cancelled("stopped");
  if (!status.ok()) {
    metrics_.failures.Add();
    Log(Level::kWarning, is_list ? "list failed" : "watch failed",
        {{"resource", options_.resource->plural}, {"error", status}, {"retry_in_ms", reflector_.Next().delay.count()}});
  }
  Publish(status);
  return status;
}

Status ListWatch::List(const std::string& resource_version) {
  metrics_.lists.Add();
  kube::ListOptions options;
  options.name_space = options_.name_space;
  options.label_selector = options_.label_selector;
  options.resource_version = resource_version;
  // Includes undecodable objects, since they exist.
  std::set<kube::ObjectKey> listed;
  const auto take_page = [&](const std::vector<kube::Json>& page) {
    for (const kube::Json& object : page) {
      if (is_cancelled()) return false;
      listed.insert(kube::ReadObjectKey(object));
      Put(object);
    }
    return true;
  };
  const Result<std::string> version = client_.ListPages(
      *options_.resource, options, take_page, [&] { listed.clear(); }, cancel_.get_token());
  if (!version.ok()) {
    reflector_.OnListFailed();
    return version.status();
  }
  // Known but not listed: deleted while no watch was open.
  for (const auto& [key, uid] : sink_.Known()) {
    if (!listed.contains(key)) sink_.OnDeleted(key, uid);
  }
  reflector_.OnListed(*version);
  return Status();
}

Status ListWatch::Watch(const std::string& resource_version) {
  metrics_.watches.Add();
  kube::WatchOptions options;
  options.name_space = options_.name_space;
  options.label_selector = options_.label_selector;
  options.resource_version = resource_version;
  const auto range = static_cast<uint32_t>((options_.max_watch - options_.min_watch).count() + 1);
  options.timeout = options_.min_watch + std::chrono::seconds(lengths_.NextBelow(range));

  Result<std::unique_ptr<client::LineStream>> opened = client_.Watch(*options_.resource, options, cancel_.get_token());
  if (!opened.ok()) {
    reflector_.OnWatchFailed(opened.status());
    return opened.status();
  }
  Publish(Status());  // clears the last error
  const std::shared_ptr<client::LineStream> stream = *std::move(opened);
  if (!Register(stream)) return Cancelled("stopped");

  const SteadyTime opened_at = clock_.Now();
  WatchTally tally;
  const Status how = Follow(*stream, opened_at + options.timeout + options_.idle_grace, &tally);
  stream->Cancel();
  Register(nullptr);
  reflector_.OnWatchEnded(how, clock_.Now() - opened_at, tally);
  if (!how.ok() || reflector_.Next().delay.count() == 0) return how;
  return Unavailable(tally.num_garbled > 0 ? "no line of the watch could be parsed"
                                           : "the watch ended at once, without an event");
}

Status ListWatch::Follow(client::LineStream& lines, SteadyTime idle_deadline, WatchTally* tally) {
  while (true) {
    Result<std::optional<std::string>> line = lines.Next(Deadline::At(idle_deadline));
    if (!line.ok()) {
      if (line.status().code() != StatusCode::kDeadlineExceeded) return std::move(line).status();
      return Unavailable(
          "neither an event nor the end of the watch arrived in time: the connection is considered dead");
    }
    if (!line->has_value()) return Status();
    if ((*line)->empty()) continue;
    metrics_.events.Add();
    const Result<kube::WatchEvent> event = kube::ParseWatchEvent(**line);
    if (!event.ok()) {
      ++tally->num_garbled;
      Skip({}, event.status());
      continue;
    }
    // A connection that delivers events is not dead, even if the watch should have ended.
    idle_deadline = std::max(idle_deadline, clock_.Now() + options_.idle_grace);
    ++tally->num_events;
    RETURN_IF_ERROR(TakeEvent(*event));
  }
}

// Applies an event. Returns the error of an ERROR event.
Status ListWatch::TakeEvent(const kube::WatchEvent& event) {
  switch (event.type) {
    case kube::WatchEventType::kAdded:
    case kube::WatchEventType::kModified: Put(event.object); break;
    case kube::WatchEventType::kDeleted:
      sink_.OnDeleted(kube::ReadObjectKey(event.object), kube::StringAt(event.object, {"metadata", "uid"}));
      break;
    case kube::WatchEventType::kBookmark:
    case kube::WatchEventType::kError: break;
  }
  if (!reflector_.OnEvent(event)) return kube::ToStatus(kube::ParseStatusObject(event.object));
  MutexLock lock(&mutex_);
  resource_version_ = reflector_.resource_version();
  return Status();
}

void ListWatch::Put(const kube::Json& object) {
  if (kube::NestsTooDeep(object)) {
    return Skip(kube::ReadObjectKey(object),
                InvalidArgument("it nests deeper than " + std::to_string(kube::kMaxJsonDepth) + " levels"));
  }
  if (const Status status = sink_.OnObject(object); !status.ok()) Skip(kube::ReadObjectKey(object), status);
}

void ListWatch::Skip(const kube::ObjectKey& key, const Status& reason) {
  metrics_.undecodable.Add();
  if (logged_.size() >= kMaxLogged) logged_.clear();
  if (!logged_.insert(key).second) return;
  Log(Level::kWarning, "object skipped",
      {{"resource", options_.resource->plural}, {"object", kube::ToString(key)}, {"error", reason}});
}

void ListWatch::Publish(const Status& status) {
  MutexLock lock(&mutex_);
  has_synced_ = reflector_.has_listed();
  resource_version_ = reflector_.resource_version();
  last_error_ = status.ok() ? "" : status.ToString();
  last_code_ = status.code();
}

bool ListWatch::Register(std::shared_ptr<client::LineStream> stream) {
  MutexLock lock(&mutex_);
  stream_ = std::move(stream);
  return !is_cancelled();
}

void ListWatch::Cancel() {
  // Without the lock, because request_stop runs callbacks. A stream that is registered already is cancelled below;
  // Register refuses later ones.
  cancel_.request_stop();
  std::shared_ptr<client::LineStream> stream;
  {
    MutexLock lock(&mutex_);
    stream = stream_;
  }
  if (stream != nullptr) stream->Cancel();
}

bool ListWatch::has_synced() const {
  MutexLock lock(&mutex_);
  return has_synced_;
}

bool ListWatch::WaitForSync(Deadline deadline) { return Wait(deadline, /*or_error=*/false); }

bool ListWatch::WaitForFirstList(Deadline deadline) { return Wait(deadline, /*or_error=*/true); }

bool ListWatch::Wait(Deadline deadline, bool or_error) {
  const auto has_ended = [this, or_error]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return has_synced_ || is_cancelled() || (or_error && !last_error_.empty());
  };
  MutexLock lock(&mutex_);
  while (!has_ended() && !deadline.HasPassed(clock_)) {
    // Waits in real time even if clock_ is a fake.
    const auto wait = std::min<std::chrono::nanoseconds>(deadline.Remaining(clock_), kMaxSyncWait);
    mutex_.AwaitBefore(Deadline::After(wait), has_ended);
  }
  return has_synced_;
}

std::string ListWatch::resource_version() const {
  MutexLock lock(&mutex_);
  return resource_version_;
}

std::string ListWatch::last_error() const {
  MutexLock lock(&mutex_);
  return last_error_;
}

StatusCode ListWatch::last_code() const {
  MutexLock lock(&mutex_);
  return last_code_;
}

}  // namespace espalier::ctl::runtime
