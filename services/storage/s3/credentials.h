// The interface of credential sources, and a cache that refreshes credentials.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/storage/s3/sigv4.h"

namespace espalier::storage {

// Thread-safe. Errors name the source and the problem, never a secret.
class CredentialSource {
 public:
  virtual ~CredentialSource() = default;
  // Returns a description for messages, such as "web identity of role arn:...".
  virtual std::string Describe() const = 0;
  // Returns new credentials. Errors: PermissionDenied, FailedPrecondition (invalid configuration), DataLoss (invalid
  // response), Unavailable, DeadlineExceeded, and those of ReadSmallFile (small_file.h) for a source with a file.
  virtual Result<Credentials> Fetch(Deadline deadline) = 0;
  // Returns false if fetching again returns the same credentials.
  virtual bool IsRenewable() const = 0;
};

// Fetches credentials when needed: at the first use, five minutes before expiry, and after the service has rejected the
// current ones. If a refresh fails, credentials that have not expired stay in use. Thread-safe; one thread fetches
// while others use the current credentials, or wait if there are none.
class CredentialCache {
 public:
  CredentialCache(std::unique_ptr<CredentialSource> source, WallClock now)
      : source_(std::move(source)), now_(std::move(now)) {}

  // Returns credentials that have not expired; fetches them first if there are none or if a refresh is due. Errors are
  // those of CredentialSource::Fetch; PermissionDenied also if the fetched credentials have expired.
  Result<Credentials> Get(Deadline deadline);
  // Discards the credentials with this ID, which the service has rejected, so that the next Get fetches new ones.
  // Returns false and discards nothing if the source has no others (IsRenewable).
  bool DiscardRejected(const std::string& access_key_id);
  std::string Describe() const { return source_->Describe(); }

 private:
  // Returns whether there are credentials that do not expire within `margin`.
  bool IsUsable(std::chrono::seconds margin) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsRefreshDue() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Result<Credentials> FetchNow(Deadline deadline);

  const std::unique_ptr<CredentialSource> source_;
  const WallClock now_;
  Mutex mutex_;
  std::optional<Credentials> current_ ABSL_GUARDED_BY(mutex_);
  // Set if the last refresh failed or returned credentials that are about to expire: the earliest time of the next one.
  std::optional<WallTime> next_refresh_ ABSL_GUARDED_BY(mutex_);
  bool is_fetching_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace espalier::storage
