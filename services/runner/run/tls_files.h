// The certificates of one run: a temporary certificate authority and one certificate for each role except partitioners,
// in files that only this user can read. The authority's private key is never written to disk and is discarded once the
// certificates exist.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "services/base/environment.h"
#include "services/base/status.h"
#include "services/runner/run/role.h"

namespace espalier::run {

// Not thread-safe.
class TlsFiles {
 public:
  // Creates `folder` with ca.crt, <role>/tls.crt and <role>/tls.key. Removes the folder of an earlier run first.
  static Result<std::unique_ptr<TlsFiles>> Make(const std::string& folder);
  // Removes the folder.
  ~TlsFiles();
  TlsFiles(const TlsFiles&) = delete;
  TlsFiles& operator=(const TlsFiles&) = delete;

  // Returns the --tls flags of a child as environment variables. `folder` is where these files are on the child's
  // machine. Empty for partitioners, which have no connections to other processes.
  EnvironmentMap MakeEnvironment(Role role, const std::string& folder) const;
  // Returns the content of the files that processes of `role` need, by their path relative to the folder. Secret,
  // because one of them is a private key.
  Result<std::map<std::string, std::string>> ReadFiles(Role role) const;

 private:
  TlsFiles(std::string folder, std::string job) : folder_(std::move(folder)), job_(std::move(job)) {}
  Status Write() const;

  const std::string folder_;
  const std::string job_;  // "namespace/uid", with a random uid
};

// Returns the variables of TlsFiles::MakeEnvironment with empty values. The children of a plaintext run get them, so
// that they inherit no values from this process's environment.
EnvironmentMap EnvironmentWithoutTls();

}  // namespace espalier::run
