// Properties of a service that a client learns from the responses. After that, only a bucket's region may change.
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

  // Returns whether a request with this method may have x-amz-checksum-* headers. With them, a GET asks for checksums,
  // and other methods send checksums.
  bool AcceptsChecksums(const std::string& method) const {
    return ChecksumFlag(method).load(std::memory_order_relaxed);
  }
  // Records that the service has rejected these headers. Returns false if that was already recorded.
  bool DisableChecksums(const std::string& method) {
    return ChecksumFlag(method).exchange(false, std::memory_order_relaxed);
  }

  // Returns the bucket with the region that the service has reported for it, or unchanged without such a report.
  S3Bucket Locate(const S3Bucket& bucket) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Records that the service reports `region` for the bucket. Returns false if that was already recorded.
  bool SetRegion(const std::string& bucket_name, const std::string& region) ABSL_LOCKS_EXCLUDED(mutex_);

  // Returns whether a response has shown that the bucket exists. A 404 to HEAD, which has no body, then means that the
  // object is missing; otherwise the bucket may be missing.
  bool IsKnownToExist(const std::string& bucket_name) const ABSL_LOCKS_EXCLUDED(mutex_);
  void RecordExistence(const std::string& bucket_name) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const std::atomic<bool>& ChecksumFlag(const std::string& method) const {
    return method == "GET" ? downloads_with_checksums_ : uploads_with_checksums_;
  }
  std::atomic<bool>& ChecksumFlag(const std::string& method) {
    return method == "GET" ? downloads_with_checksums_ : uploads_with_checksums_;
  }

  // Atomic, because all sending threads share them.
  std::atomic<bool> uploads_with_checksums_, downloads_with_checksums_;
  mutable Mutex mutex_;
  std::map<std::string, std::string> regions_ ABSL_GUARDED_BY(mutex_);  // by bucket name
  std::set<std::string> known_buckets_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::storage
