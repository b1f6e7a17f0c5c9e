// The certificates of one run: a throw-away authority, whose key stays in this process's memory until the
// certificates are made, and one certificate for each role, in files that only this user can read.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "services/base/environment.h"
#include "services/base/status.h"
#include "services/runner/run/role.h"

namespace espalier::run {

// Owned by one thread.
class TlsFiles {
 public:
  // Makes `folder` (ca.crt, <role>/tls.crt, <role>/tls.key), in place of what an earlier run left there.
  static Result<std::unique_ptr<TlsFiles>> Make(const std::string& folder);
  // Removes the folder.
  ~TlsFiles();
  TlsFiles(const TlsFiles&) = delete;
  TlsFiles& operator=(const TlsFiles&) = delete;

  // The --tls flags of a child as environment variables, for files that lie as in `folder` on its machine. Nothing for
  // partitioners, which talk to nobody.
  EnvironmentMap MakeEnvironment(Role role, const std::string& folder) const;
  // The files that processes of `role` need, by their path below the folder. Secret: they hold a private key.
  Result<std::map<std::string, std::string>> ReadFiles(Role role) const;

 private:
  TlsFiles(std::string folder, std::string job) : folder_(std::move(folder)), job_(std::move(job)) {}
  Status Write() const;

  const std::string folder_;
  const std::string job_;  // "namespace/uid", with a random uid
};

// The same variables, empty, for every child of a plaintext run: whoever called may have had them for something else.
EnvironmentMap EnvironmentWithoutTls();

}  // namespace espalier::run
