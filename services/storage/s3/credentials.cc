#include "services/storage/s3/credentials.h"

#include <algorithm>

#include "services/telemetry/log.h"

namespace espalier::storage {
namespace {

using std::chrono::seconds;

constexpr seconds kRefreshBefore{300};     // time before expiry
constexpr seconds kRefreshAgainAfter{30};  // time after a refresh that failed or returned credentials about to expire
constexpr seconds kFetchTimeout{10};

}  // namespace

bool CredentialCache::IsUsable(seconds margin) const {
  return current_.has_value() && (!current_->expires || now_() + margin < *current_->expires);
}

bool CredentialCache::IsRefreshDue() const {
  return !IsUsable(kRefreshBefore) && !(next_refresh_ && now_() < *next_refresh_);
}

Result<Credentials> CredentialCache::Get(Deadline deadline) {
  {
    MutexLock lock(&mutex_);
    if (IsUsable(seconds(0)) && (!IsRefreshDue() || is_fetching_)) return *current_;
    const auto is_free = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !is_fetching_; };
    if (!mutex_.AwaitBefore(deadline, is_free)) return DeadlineExceeded("waiting for credentials: " + Describe());
    if (IsUsable(seconds(0)) && !IsRefreshDue()) return *current_;  // another thread has refreshed them
    is_fetching_ = true;
  }
  Result<Credentials> fetched = FetchNow(deadline);
  MutexLock lock(&mutex_);
  is_fetching_ = false;
  if (fetched.ok()) {
    current_ = *fetched;
    next_refresh_.reset();
    // If the source returns credentials that are about to expire, do not fetch again at every call.
    if (!IsUsable(kRefreshBefore)) next_refresh_ = now_() + kRefreshAgainAfter;
    return fetched;
  }
  if (!IsUsable(seconds(0))) return fetched;
  next_refresh_ = now_() + kRefreshAgainAfter;
  telemetry::Log(telemetry::Level::kWarning, "refreshing credentials failed; the current ones are still valid",
                 {{"source", Describe()}, {"error", fetched.status()}});
  return *current_;
}

Result<Credentials> CredentialCache::FetchNow(Deadline deadline) {
  Result<Credentials> fetched = source_->Fetch(deadline.AtMost(kFetchTimeout));
  if (!fetched.ok()) return std::move(fetched).While("getting credentials from the " + Describe());
  if (fetched->expires && *fetched->expires <= now_()) {
    return Status(StatusCode::kPermissionDenied, "the credentials from the " + Describe() + " have expired");
  }
  return fetched;
}

bool CredentialCache::DiscardRejected(const std::string& access_key_id) {
  if (!source_->IsRenewable()) return false;
  MutexLock lock(&mutex_);
  if (current_ && current_->access_key_id == access_key_id) {
    current_.reset();
    next_refresh_.reset();
  }
  return true;
}

}  // namespace espalier::storage
