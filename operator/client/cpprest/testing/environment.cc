// Initializes the library for all tests of the executable, since this is possible only once per process. The system's
// CA file then contains MachineAuthority().
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "operator/client/cpprest/testing/connect.h"

namespace espalier::ctl::client {

const TestAuthority& MachineAuthority() {
  static const TestAuthority authority("the machine's authority");
  return authority;
}

namespace {

class CpprestEnvironment : public testing::Environment {
 public:
  void SetUp() override {
    path_ = std::filesystem::path(testing::TempDir()) / ("authorities-" + std::to_string(getpid()) + ".pem");
    std::ofstream(path_) << MachineAuthority().pem();
    setenv("SSL_CERT_FILE", path_.c_str(), 1);
    const Status status = InitializeCpprest(4);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  void TearDown() override { std::filesystem::remove(path_); }

 private:
  std::filesystem::path path_;
};

const testing::Environment* const environment = testing::AddGlobalTestEnvironment(new CpprestEnvironment);

}  // namespace
}  // namespace espalier::ctl::client
