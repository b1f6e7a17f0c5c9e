// Where an API server is and who asks: what kubeconfig (kube_config.h) and a pod's environment (in_cluster.h) come to,
// and what client/cpprest connects with.
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

// Who asks, now.
struct Credentials {
  telemetry::Secret bearer_token;      // without white space; empty: none
  std::string client_certificate_pem;  // both or none
  telemetry::Secret client_key_pem;
};
// Whether a connection made with one will do for the other.
bool SameCertificate(const Credentials& a, const Credentials& b);

// Thread-safe.
class CredentialsSource {
 public:
  virtual ~CredentialsSource() = default;
  // Fresh enough to be sent; may run a program or read a file, by the deadline. What was good stays in use where the
  // source cannot be read for a moment.
  virtual Result<Credentials> Get(Deadline deadline) = 0;
  // The server answered 401 to what Get said: the next Get looks again.
  virtual void Reject() = 0;
};

// Always the same.
std::shared_ptr<CredentialsSource> FixedCredentials(Credentials credentials);
// A token in a file that is replaced from time to time (the kubelet's): read again every minute and after Reject.
std::shared_ptr<CredentialsSource> TokenFile(std::string path, Clock& clock = Clock::Real());
// A client certificate and key in files, read again in the same way.
// The old pair stays in use while the two files do not belong together.
std::shared_ptr<CredentialsSource> CertificateFiles(std::string certificate_path, std::string key_path,
                                                    Clock& clock = Clock::Real());
// The token of one and the certificate of the other.
std::shared_ptr<CredentialsSource> TokenAndCertificate(std::shared_ptr<CredentialsSource> token,
                                                       std::shared_ptr<CredentialsSource> certificate);

struct Connection {
  std::string host;  // name or address, IPv6 without brackets
  uint16_t port = 443;
  bool tls = true;
  std::string base_path;    // "/k8s/clusters/c-1": before every target; usually empty
  std::string server_name;  // expected in the certificate; empty: host
  std::string ca_file;      // read for every new connection, so that it may be replaced
  std::string ca_pem;       // in place of ca_file; both empty: the system's authorities
  bool skip_verification = false;
  std::string proxy_url;         // "http://proxy:3128"; empty: none
  std::string impersonate_user;  // "as"; empty: nobody
  std::string impersonate_uid;
  std::vector<std::string> impersonate_groups;
  std::string name_space;  // of the context or the pod; empty: "default"
  std::shared_ptr<CredentialsSource> credentials;
};

}  // namespace espalier::ctl::client
