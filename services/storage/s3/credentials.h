// Where credentials come from, and keeping them fresh.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/storage/s3/sigv4.h"

namespace espalier::storage {

// Thread-safe. Errors name the source and what is wrong with it, never a secret.
class CredentialSource {
 public:
  virtual ~CredentialSource() = default;
  // "web identity of role arn:...": for messages.
  virtual std::string Describe() const = 0;
  // Errors: PermissionDenied, FailedPrecondition (set up wrongly), Unavailable, DeadlineExceeded.
  virtual Result<Credentials> Fetch(Deadline deadline) = 0;
  // False where fetching again gives the same.
  virtual bool IsRenewable() const = 0;
};

// Fetches when needed: at first, five minutes before expiry, and when the service has refused what there was. While a
// refresh fails, what has not expired goes on being used. Thread-safe; one thread fetches, others wait for it only
// where there is nothing to use.
class CredentialCache {
 public:
  CredentialCache(std::unique_ptr<CredentialSource> source, WallClock now)
      : source_(std::move(source)), now_(std::move(now)) {}

  Result<Credentials> Get(Deadline deadline);
  // The service has refused those with this id. False where there can be no others.
  bool Renew(const std::string& access_key_id);
  std::string Describe() const { return source_->Describe(); }

 private:
  bool IsUsable(std::chrono::seconds margin) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Result<Credentials> FetchNow(Deadline deadline);

  const std::unique_ptr<CredentialSource> source_;
  const WallClock now_;
  Mutex mutex_;
  std::optional<Credentials> current_ ABSL_GUARDED_BY(mutex_);
  std::optional<WallTime> next_refresh_ ABSL_GUARDED_BY(mutex_);  // after one that failed
  bool is_fetching_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace espalier::storage
