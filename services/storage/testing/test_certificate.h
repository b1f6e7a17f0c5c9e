// A self-signed certificate for 127.0.0.1, for tests.
#pragma once

#include <string>

#include "services/base/status.h"

namespace espalier::storage {

struct TestCertificate {
  std::string certificate_file;  // PEM, its own issuer: also the CA file for clients
  std::string key_file;          // PEM, EC P-256
};
// Writes both into `folder`. Valid for a day, for 127.0.0.1, ::1 and localhost.
Result<TestCertificate> MakeTestCertificate(const std::string& folder);

}  // namespace espalier::storage
