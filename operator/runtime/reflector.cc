#include "operator/runtime/reflector.h"

#include <utility>

#include "operator/kube/api_error.h"
#include "operator/kube/json.h"
#include "operator/kube/resource_version.h"
#include "services/base/backoff.h"

namespace espalier::ctl::runtime {
namespace {

constexpr RetryPolicy kBackoff{.initial_delay = std::chrono::milliseconds(800), .max_delay = std::chrono::seconds(30)};

// Returns true if the same watch may succeed later, because the error is not about the version it starts from.
bool IsTemporary(StatusCode code) {
  switch (code) {
    case StatusCode::kUnavailable:
    case StatusCode::kResourceExhausted:
    case StatusCode::kDeadlineExceeded:
    case StatusCode::kUnauthenticated:
    case StatusCode::kPermissionDenied:
    case StatusCode::kAborted:
    case StatusCode::kCancelled: return true;
    case StatusCode::kOk:
    case StatusCode::kUnknown:
    case StatusCode::kInvalidArgument:
    case StatusCode::kNotFound:
    case StatusCode::kAlreadyExists:
    case StatusCode::kFailedPrecondition:
    case StatusCode::kOutOfRange:
    case StatusCode::kUnimplemented:
    case StatusCode::kInternal:
    case StatusCode::kDataLoss: return false;
  }
  return false;
}

}  // namespace

ReflectorAction Reflector::Next() const {
  if (state_ == State::kMustList) return {ReflectorStep::kList, "", delay_};
  return {ReflectorStep::kWatch, resource_version_, delay_};
}

void Reflector::Fail() { delay_ = DelayBefore(++num_failures_, kBackoff, jitter_.Next()); }

// Handles an expired version. The first time there is no delay, because a server may drop an old version at any time.
// If the version of the new list expires too, the server has a problem, and the delay grows.
void Reflector::Expire() {
  if (has_relisted_) return Fail();
  has_relisted_ = true;
  delay_ = std::chrono::milliseconds(0);
}

void Reflector::OnListed(const std::string& resource_version) {
  state_ = State::kCanWatch;
  has_listed_ = true;
  resource_version_ = resource_version;
  is_in_order_ = !resource_version.empty() && resource_version != "0";
  delay_ = std::chrono::milliseconds(0);
}

void Reflector::OnListFailed() { Fail(); }

void Reflector::OnWatchFailed(const Status& status) {
  if (!IsTemporary(status.code())) state_ = State::kMustList;
  status.code() == StatusCode::kOutOfRange ? Expire() : Fail();
}

bool Reflector::OnEvent(const kube::WatchEvent& event) {
  if (event.type == kube::WatchEventType::kError) {
    const Status status = kube::ToStatus(kube::ParseStatusObject(event.object));
    if (!IsTemporary(status.code()) || ++num_error_events_ >= kMaxErrorEvents) {
      state_ = State::kMustList;
      num_error_events_ = 0;
    }
    ended_by_error_event_ = true;
    expired_ = status.code() == StatusCode::kOutOfRange;
    return false;
  }
  num_error_events_ = 0;
  if (event.type != kube::WatchEventType::kAdded) is_in_order_ = true;
  if (!is_in_order_) return true;
  const std::string version = kube::StringAt(event.object, {"metadata", "resourceVersion"});
  const bool goes_back = kube::IsOlder(version, resource_version_).value_or(false);
  if (!version.empty() && !goes_back) resource_version_ = version;
  return true;
}

void Reflector::OnWatchEnded(const Status& how, std::chrono::nanoseconds lasted, WatchTally tally) {
  const bool is_garbled = tally.num_events == 0 && tally.num_garbled > 0;
  // A watch that lasted long enough resets the failures before its end is evaluated.
  if (lasted >= kHealthyWatch && !is_garbled) {
    num_failures_ = 0;
    has_relisted_ = false;
  }
  if (std::exchange(ended_by_error_event_, false)) return std::exchange(expired_, false) ? Expire() : Fail();
  num_garbled_watches_ = is_garbled ? num_garbled_watches_ + 1 : 0;
  if (how.ok() && !is_garbled && (tally.num_events > 0 || lasted >= kVeryShortWatch)) {
    delay_ = std::chrono::milliseconds(0);
    return;
  }
  // Lists again if a new watch from the same version would fail for the same reason: a line that is too long
  // (ResourceExhausted) or, probably, lines that cannot be parsed.
  if (how.code() == StatusCode::kResourceExhausted || num_garbled_watches_ >= kMaxGarbledWatches) {
    state_ = State::kMustList;
    num_garbled_watches_ = 0;
  }
  Fail();
}

}  // namespace espalier::ctl::runtime
