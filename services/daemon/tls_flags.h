// The flags by which a role binary is told its certificates, each with an environment variable.
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

  // Some of them are given: all must be.
  bool any() const { return !(ca_file + certificate_file + key_file + job).empty(); }
};

void AddTlsFlags(CLI::App& app, TlsFlags* flags);
// InvalidArgument where some flags are given and others are not, or the job is none.
Status CheckTlsFlags(const TlsFlags& flags);
// Null where no flag is given: plaintext. Errors as of TransportSecurity::Load, after a second look at files that may
// be in the middle of being replaced.
Result<std::shared_ptr<const rpc::TransportSecurity>> LoadTls(const TlsFlags& flags, pki::PeerRole role);

// InvalidArgument where the job wants TLS and no flag is given: nobody talks in the clear by omission.
Status CheckTls(const job::DistTraining& training, const TlsFlags& flags);

}  // namespace espalier::daemon
