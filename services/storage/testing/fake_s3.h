// A fake S3 service in this process. It checks signatures, digests and checksums like the real service.
#pragma once

#include <map>
#include <string>

#include "services/base/mutex.h"
#include "services/http/transport.h"
#include "services/storage/s3/s3_client.h"

namespace espalier::storage {

// One bucket, "bucket", path-style, at http://s3.test, region us-east-1. Thread-safe.
class FakeS3 final : public http::Transport {
 public:
  Result<http::Response> Send(const http::Request& request, const http::SendOptions& options) override;

  // Set the service's clock and the only credentials that it accepts.
  void set_now(WallTime now);
  void set_credentials(Credentials credentials);
  void set_page_size(size_t num_keys);
  enum class Conditions { kHonored, kRefused };  // 501 to If-None-Match
  void set_conditions(Conditions conditions);

  int64_t num_requests() const;
  // Returns the number of multipart uploads that are neither completed nor aborted.
  size_t num_open_uploads() const;

  static S3Bucket Bucket();

 private:
  struct Object {
    std::string bytes, writer, crc32, etag;
  };
  struct Upload {
    std::string key, writer;
    std::map<int, std::string> parts;
  };
  struct Request;
  http::Response Serve(const http::Request& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  http::Response Refuse(int status, const std::string& code) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string FaultOfSignature(const Request& request) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  http::Response Get(const Request& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  http::Response Put(const Request& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  http::Response Delete(const Request& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  http::Response Post(const Request& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  http::Response Complete(const Request& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  http::Response DeleteMany(const Request& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  http::Response List(const Request& request) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  std::map<std::string, Object> objects_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Upload> uploads_ ABSL_GUARDED_BY(mutex_);
  Credentials credentials_ ABSL_GUARDED_BY(mutex_){"AKID", telemetry::Secret("secret"), telemetry::Secret(), {}};
  WallTime now_ ABSL_GUARDED_BY(mutex_){std::chrono::seconds(1'800'000'000)};
  size_t page_size_ ABSL_GUARDED_BY(mutex_) = 1000;
  Conditions conditions_ ABSL_GUARDED_BY(mutex_) = Conditions::kHonored;
  int64_t num_requests_ ABSL_GUARDED_BY(mutex_) = 0;
  int next_upload_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace espalier::storage
