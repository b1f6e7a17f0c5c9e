// The certificates of one run: a throw-away authority, whose key stays in this process's memory until the
// certificates are made, and one certificate for each role, in files that only this user can read.
#pragma once

#include <memory>
#include <string>

#include "services/apps/run/role.h"
#include "services/base/environment.h"
#include "services/base/status.h"

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

  // The --tls flags of a child as environment variables. Nothing for partitioners, which talk to nobody.
  EnvironmentMap EnvironmentOf(Role role) const;

 private:
  TlsFiles(std::string folder, std::string job) : folder_(std::move(folder)), job_(std::move(job)) {}
  Status Write() const;

  const std::string folder_;
  const std::string job_;  // "namespace/uid", with a random uid
};

}  // namespace espalier::run
