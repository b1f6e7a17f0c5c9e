// A real S3 service for tests: versitygw (github.com/versity/versitygw) over a temporary folder.
#pragma once

#include <memory>
#include <string>

#include "services/storage/store_settings.h"
#include "services/storage/testing/child_process.h"
#include "services/storage/testing/temporary_folder.h"

namespace espalier::storage {

// Ends with its object.
class Versitygw {
 public:
  // The program: the environment variable ESPALIER_VERSITYGW, or what the build was configured with; "" without.
  static std::string Program();

  enum class Tls { kOff, kOn };
  // Serves the bucket "tests" on a free port of 127.0.0.1, and is ready when this returns. `program` exists.
  static Result<std::unique_ptr<Versitygw>> Start(const std::string& program, Tls tls);

  // How to reach it.
  const S3Settings& settings() const { return settings_; }
  const std::string& bucket() const { return bucket_; }
  // What it printed so far.
  std::string Log() const;

 private:
  Versitygw() = default;
  Status StartOnce(const std::string& program, Tls tls);
  Status AwaitReady() const;

  TemporaryFolder folder_;
  S3Settings settings_;
  const std::string bucket_ = "tests";
  std::unique_ptr<ChildProcess> process_;
};

}  // namespace espalier::storage
