// What a client has learned about its service from the service's answers: each is learned once and then kept.
#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "services/base/mutex.h"
#include "services/storage/s3/bucket.h"
#include "services/storage/store_settings.h"

namespace espalier::storage {

// Thread-safe.
class ServiceTraits {
 public:
  ServiceTraits(S3Checksums request_checksums, S3Checksums response_checksums)
      : uploads_with_checksums_(request_checksums == S3Checksums::kWhenSupported),
        downloads_with_checksums_(response_checksums == S3Checksums::kWhenSupported) {}

  // Whether a request with this method may carry x-amz-checksum-* headers: GET asks for checksums, others send them.
  bool AcceptsChecksums(const std::string& method) const { return FlagFor(method).load(std::memory_order_relaxed); }
  // The service has refused them. Returns false where that was known.
  bool ForgoChecksums(const std::string& method) { return FlagFor(method).exchange(false, std::memory_order_relaxed); }

  // Returns the bucket in the region where the service has said that it is.
  S3Bucket Locate(const S3Bucket& bucket) const ABSL_LOCKS_EXCLUDED(mutex_);
  // The service says that the bucket is in `region`. Returns false where that was known.
  bool SetRegion(const std::string& bucket_name, const std::string& region) ABSL_LOCKS_EXCLUDED(mutex_);

  // Whether the service has answered for something in the bucket, so that a 404 to HEAD, which has no body, cannot mean
  // that there is no bucket.
  bool IsKnown(const std::string& bucket_name) const ABSL_LOCKS_EXCLUDED(mutex_);
  void SetKnown(const std::string& bucket_name) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const std::atomic<bool>& FlagFor(const std::string& method) const {
    return method == "GET" ? downloads_with_checksums_ : uploads_with_checksums_;
  }
  std::atomic<bool>& FlagFor(const std::string& method) {
    return method == "GET" ? downloads_with_checksums_ : uploads_with_checksums_;
  }

  // Atomics, because every thread that sends reads them.
  std::atomic<bool> uploads_with_checksums_, downloads_with_checksums_;
  mutable Mutex mutex_;
  std::map<std::string, std::string> regions_ ABSL_GUARDED_BY(mutex_);  // by bucket name
  std::set<std::string> known_buckets_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::storage
