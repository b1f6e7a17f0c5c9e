// The --tls flags: the certificate authorities, a process's certificate and private key, and the job that the
// certificate belongs to.
#pragma once

#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "services/job/dist_training.h"
#include "services/rpc/tls.h"

namespace espalier::daemon {

struct TlsFlags {
  std::string ca_file;
  std::string certificate_file;
  std::string key_file;
  std::string job;  // "namespace/uid"

  // Returns whether any of the flags is given; all must be given together.
  bool any() const { return !(ca_file + certificate_file + key_file + job).empty(); }
};

// Declares the flags, each with an environment variable.
void AddTlsFlags(CLI::App& app, TlsFlags* flags);
// Returns InvalidArgument if only some of the flags are given or the value of --tls-job is invalid.
Status CheckTlsFlags(const TlsFlags& flags);
// Loads the TransportSecurity of this process, whose role is `role`, from the files; returns null (plaintext) if no
// flag is given. Returns the errors of CheckTlsFlags and of TransportSecurity::Load. Retries for a second or two,
// because another process may be replacing the files.
Result<std::shared_ptr<const rpc::TransportSecurity>> LoadTls(const TlsFlags& flags, pki::PeerRole role);

// Returns InvalidArgument if the job requires TLS and no flag is given, so that an omission never leads to plaintext.
Status CheckTls(const job::DistTraining& job, const TlsFlags& flags);

}  // namespace espalier::daemon
