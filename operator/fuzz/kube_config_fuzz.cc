// Fuzzes the parsers of kubeconfig files, their URLs, and the output of exec plugins. Opens no file and starts no
// plugin.
#include <cstddef>
#include <cstdint>
#include <string>

#include "operator/client/exec_credential.h"
#include "operator/client/kube_config_file.h"
#include "operator/client/server_url.h"
#include "services/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace espalier::ctl::client;  // NOLINT: one function
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto file = ParseKubeConfigFile(text, "/folder/config");
  if (file.ok()) {
    KubeConfigFile merged = *file;
    MergeKubeConfig(*file, &merged);
    ESPALIER_CHECK(merged.clusters.size() == file->clusters.size() && merged.users.size() == file->users.size());
    for (const auto& [name, cluster] : file->clusters) {
      const auto url = ParseServerUrl(cluster.server);
      ESPALIER_CHECK(!url.ok() || (!url->host.empty() && url->port != 0));
      ESPALIER_CHECK(cluster.ca_file.empty() || cluster.ca_file.front() == '/');
    }
  }
  // Parses the same bytes as if they were the output of a plugin.
  const auto credential = ParseExecCredential(text, "client.authentication.k8s.io/v1");
  ESPALIER_CHECK(!credential.ok() || !credential->credentials.bearer_token.empty() ||
                 !credential->credentials.client_certificate_pem.empty());
  return 0;
}
