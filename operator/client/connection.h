// The address of an API server and the credentials for it. kube_config.h reads them from kubeconfig files, in_cluster.h
// from the environment of a pod; client/cpprest connects with them.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/telemetry/log.h"

namespace espalier::ctl::client {

// Current credentials of the client.
struct Credentials {
  telemetry::Secret bearer_token;      // without white space; empty: none
  std::string client_certificate_pem;  // empty if and only if client_key_pem is empty
  telemetry::Secret client_key_pem;
};
// Returns whether both have the same client certificate and key, so that they can share TLS connections.
bool HaveSameCertificate(const Credentials& a, const Credentials& b);

// Thread-safe.
class CredentialsSource {
 public:
  virtual ~CredentialsSource() = default;
  // Returns the current credentials. May read a file, or wait for a program until the deadline. If that fails, returns
  // the previous credentials, if any. Exception: the source of an exec plugin returns an error if the previous
  // credentials have expired or were rejected.
  virtual Result<Credentials> Get(Deadline deadline) = 0;
  // Reports that the server returned 401 for the credentials from Get. Makes the next Get read the source again.
  virtual void Reject() = 0;
};

// Returns a source with constant credentials.
std::shared_ptr<CredentialsSource> MakeFixedCredentials(Credentials credentials);
// Returns a source that reads a token from a file, for example one that the kubelet renews. The file is read again
// every minute and after Reject.
std::shared_ptr<CredentialsSource> MakeTokenFileSource(std::string path, Clock& clock = Clock::Real());
// Returns a source that reads a client certificate and its key from files. They are read again every minute and after
// Reject. While the two files do not match, the old pair stays in use.
std::shared_ptr<CredentialsSource> MakeCertificateFileSource(std::string certificate_path, std::string key_path,
                                                             Clock& clock = Clock::Real());
// Returns a source with the token of one source and the certificate of another.
std::shared_ptr<CredentialsSource> CombineTokenAndCertificate(std::shared_ptr<CredentialsSource> token,
                                                              std::shared_ptr<CredentialsSource> certificate);

struct Connection {
  std::string host;  // name or address, IPv6 without brackets
  uint16_t port = 443;
  bool tls = true;
  std::string base_path;           // prefix of every target, "/k8s/clusters/c-1"; usually empty
  std::string server_name;         // expected in the certificate; empty: host
  std::string ca_file;             // read for every new connection, so the file may be replaced
  std::string ca_pem;              // used instead of ca_file; both empty: the system's CA certificates
  bool skip_verification = false;  // of the server's certificate
  std::string proxy_url;           // "http://proxy:3128"; empty: none
  std::string impersonate_user;    // as in `kubectl --as`; empty: no impersonation
  std::string impersonate_uid;
  std::vector<std::string> impersonate_groups;
  std::string name_space;  // of the context or the pod; empty: "default"
  std::shared_ptr<CredentialsSource> credentials;
};

}  // namespace espalier::ctl::client
