#include "services/daemon/tls_flags.h"

namespace espalier::daemon {

void AddTlsFlags(CLI::App& app, TlsFlags* flags) {
  app.add_option("--tls-ca", flags->ca_file,
                 "PEM file of the certificate authorities of peers; with the other --tls flags every connection "
                 "is mutually authenticated")
      ->envname("ESPALIER_TLS_CA");
  app.add_option("--tls-certificate", flags->certificate_file, "PEM file of this process's certificate")
      ->envname("ESPALIER_TLS_CERTIFICATE");
  app.add_option("--tls-key", flags->key_file,
                 "PEM file of the certificate's private key; the three PEM files are read again when they change")
      ->envname("ESPALIER_TLS_KEY");
  app.add_option("--tls-job", flags->job, "namespace/uid of the job, as in the job's certificates")
      ->envname("ESPALIER_TLS_JOB");
}

Status CheckTlsFlags(const TlsFlags& flags) {
  if (!flags.any()) return Status();
  const std::pair<const char*, const std::string*> all[] = {{"--tls-ca", &flags.ca_file},
                                                            {"--tls-certificate", &flags.certificate_file},
                                                            {"--tls-key", &flags.key_file},
                                                            {"--tls-job", &flags.job}};
  for (const auto& [name, value] : all) {
    if (value->empty()) return InvalidArgument(std::string(name) + " is missing: TLS needs all four --tls flags");
  }
  return pki::ParseJobIdentity(flags.job).status().While("--tls-job");
}

Result<std::shared_ptr<const rpc::TransportSecurity>> LoadTls(const TlsFlags& flags, pki::PeerRole role) {
  if (!flags.any()) return std::shared_ptr<const rpc::TransportSecurity>();
  RETURN_IF_ERROR(CheckTlsFlags(flags));
  rpc::TlsSettings settings;
  settings.ca_file = flags.ca_file;
  settings.certificate_file = flags.certificate_file;
  settings.key_file = flags.key_file;
  ASSIGN_OR_RETURN(settings.job, pki::ParseJobIdentity(flags.job));
  return rpc::TransportSecurity::LoadWithRetry(settings, role);
}

Status CheckTls(const job::DistTraining& job, const TlsFlags& flags) {
  if (job.tls == job::TlsMode::kDisabled || flags.any()) return Status();
  return InvalidArgument("the document requires TLS (spec.tls.mode), but no certificates are given (--tls-...)");
}

}  // namespace espalier::daemon
