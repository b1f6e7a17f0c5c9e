#include "operator/runtime/event_recorder.h"

#include <algorithm>
#include <utility>

#include "operator/kube/time.h"
#include "services/telemetry/log.h"

namespace espalier::ctl::runtime {
namespace {

using telemetry::Level;
using telemetry::Log;

constexpr std::chrono::minutes kMaxPause{1};

}  // namespace

EventRecorder::EventRecorder(client::ApiClient& client, std::string controller, std::string instance,
                             telemetry::MetricRegistry& metrics, Clock& clock)
    : client_(client), clock_(clock), metrics_(metrics), book_(std::move(controller), std::move(instance)) {}

EventRecorder::~EventRecorder() { Join(); }

void EventRecorder::Record(const kube::Resource& resource, const kube::ObjectMeta& about, const EventNote& note) {
  MutexLock lock(&mutex_);
  if (is_stopping_ || !book_.Record(resource, about, note, kube::SystemTime(), clock_.Now()))
    return metrics_.dropped.Add();
  ++num_records_;
}

void EventRecorder::WriteDue() {
  while (WriteNext(EventBook::Due::kNow)) {
  }
}

// Returns false if there is nothing to write, or with kNow if the recorder is stopping.
bool EventRecorder::WriteNext(EventBook::Due due) {
  std::optional<EventBook::Write> write;
  {
    MutexLock lock(&mutex_);
    if (due == EventBook::Due::kNow && is_stopping_) return false;
    write = book_.NextWrite(due, clock_.Now());
  }
  if (!write) return false;
  const Status status = Send(*write);
  MutexLock lock(&mutex_);
  if (status.ok()) {
    metrics_.written.Add();
    book_.OnWritten(*write, clock_.Now());
  } else if (!book_.OnFailed(*write, status, clock_.Now())) {
    metrics_.abandoned.Add();
    Log(Level::kWarning, "event not written", {{"event", kube::ToString(write->key)}, {"error", status}});
  }
  return true;
}

Status EventRecorder::Send(const EventBook::Write& write) {
  if (write.kind == EventBook::Write::Kind::kPatch) {
    return client_.MergePatch(kube::kEvents, write.key, write.body).status();
  }
  const Status status = client_.Create(kube::kEvents, write.body).status();
  // An earlier try created it, and its response was lost.
  return status.code() == StatusCode::kAlreadyExists ? Status() : status;
}

void EventRecorder::Start() {
  thread_ = std::jthread([this] { Run(); });
}

void EventRecorder::Run() {
  while (true) {
    WriteDue();
    MutexLock lock(&mutex_);
    std::chrono::nanoseconds wait = kMaxPause;
    if (const auto next = book_.NextTime()) wait = std::min<std::chrono::nanoseconds>(wait, *next - clock_.Now());
    const auto has_work = [this, seen = num_records_]()
                              ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return is_stopping_ || num_records_ != seen; };
    mutex_.AwaitBefore(Deadline::After(wait), has_work);
    if (is_stopping_) return;
  }
}

void EventRecorder::Join() {
  {
    MutexLock lock(&mutex_);
    is_stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void EventRecorder::Stop(Deadline deadline) {
  Join();
  while (!deadline.HasPassed(clock_) && WriteNext(EventBook::Due::kAny)) {
  }
}

}  // namespace espalier::ctl::runtime
