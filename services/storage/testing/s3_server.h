// S3 servers for tests, each over a temporary folder: real services and a mock with the quirks of certain stores.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "services/process/child_process.h"
#include "services/storage/store_settings.h"
#include "services/storage/testing/temporary_folder.h"

namespace espalier::storage {

// A child process that serves the bucket "tests" on a free port of 127.0.0.1. It is ready when a Start function returns
// and ends with this object.
class S3Server {
 public:
  enum class Tls { kOff, kOn };
  // github.com/versity/versitygw.
  static Result<std::unique_ptr<S3Server>> StartVersitygw(const std::string& program, Tls tls);
  // github.com/gaul/s3proxy; requires Java 17 or later.
  static Result<std::unique_ptr<S3Server>> StartS3Proxy(const std::string& java, const std::string& jar);
  // mock_s3.py with these quirks ("no-checksums,region=eu-central-1").
  static Result<std::unique_ptr<S3Server>> StartMock(const std::string& quirks);

  // Return the path of a program from an environment variable (ESPALIER_VERSITYGW, ESPALIER_JAVA, ESPALIER_S3PROXY) or
  // from the build's configuration; "" if there is none.
  static std::string FindVersitygw();
  static std::string FindJava();
  static std::string FindS3Proxy();

  // Returns the settings for connecting to the server.
  const S3Settings& settings() const { return settings_; }
  const std::string& bucket() const { return bucket_; }
  // Returns the output of the server so far.
  std::string Log() const;

 private:
  struct Command {
    std::vector<std::string> arguments;
    std::map<std::string, std::string> environment;
    bool creates_bucket = false;  // with a request, if a folder does not create a bucket
  };
  // Sets `settings_` and returns the command that serves "127.0.0.1:port".
  using Prepare = std::function<Result<Command>(S3Server& server, int port)>;

  S3Server() = default;
  static Result<std::unique_ptr<S3Server>> Start(const Prepare& prepare);
  Status StartOnce(const Prepare& prepare);
  Status AwaitReady() const;
  Status CreateBucket() const;

  TemporaryFolder folder_;
  S3Settings settings_;
  const std::string bucket_ = "tests";
  std::unique_ptr<process::ChildProcess> process_;
};

}  // namespace espalier::storage
