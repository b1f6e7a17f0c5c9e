#include "services/storage/s3/open_s3.h"

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "services/base/mutex.h"
#include "services/http/curl_transport.h"
#include "services/storage/object_key.h"
#include "services/storage/s3/credential_sources.h"
#include "services/storage/s3/s3_store.h"

namespace espalier::storage {
namespace {

// Returns all settings of a client in one string, for comparisons. It contains secrets: never log it.
std::string ComputeFingerprint(const S3Settings& settings) {
  const S3CredentialSettings& from = settings.credentials;
  std::string fingerprint;
  for (const std::string& part : {settings.endpoint,
                                  settings.region,
                                  settings.ca_file,
                                  from.access_key_id,
                                  from.secret_access_key.Reveal(),
                                  from.session_token.Reveal(),
                                  from.shared_file,
                                  from.default_shared_file,
                                  from.profile,
                                  from.web_identity_token_file,
                                  from.role_arn,
                                  from.role_session_name,
                                  from.sts_endpoint,
                                  from.container_uri,
                                  from.container_token_file,
                                  from.container_token.Reveal(),
                                  std::string(from.instance_metadata ? "1" : "0"),
                                  from.config_file,
                                  std::to_string(settings.patience.count()),
                                  std::to_string(static_cast<int>(settings.request_checksums)),
                                  std::to_string(static_cast<int>(settings.response_checksums))}) {
    fingerprint += std::to_string(part.size()) + ":" + part;
  }
  return fingerprint;
}

Result<std::shared_ptr<S3Client>> MakeClient(const S3Settings& settings) {
  std::error_code error;
  if (!settings.ca_file.empty() && !std::filesystem::is_regular_file(settings.ca_file, error)) {
    return InvalidArgument("AWS_CA_BUNDLE names " + settings.ca_file + ", which is not a file");
  }
  auto transport = std::make_shared<http::CurlTransport>(http::CurlOptions{.ca_file = settings.ca_file});
  ASSIGN_OR_RETURN(std::unique_ptr<CredentialSource> source, MakeCredentialSource(settings, *transport));
  return std::make_shared<S3Client>(std::move(transport), std::move(source),
                                    S3ClientOptions{.retry_budget = settings.patience,
                                                    .request_checksums = settings.request_checksums,
                                                    .response_checksums = settings.response_checksums,
                                                    .metrics = settings.metrics});
}

// The clients in use; stores with equal settings share one.
class ClientRegistry {
 public:
  Result<std::shared_ptr<S3Client>> FindOrMakeClient(const S3Settings& settings) {
    const Fingerprint fingerprint(ComputeFingerprint(settings), settings.metrics.get());
    MutexLock lock(&mutex_);
    std::erase_if(clients_, [](const auto& entry) { return entry.second.expired(); });
    for (const auto& [known, client] : clients_) {
      if (std::shared_ptr<S3Client> alive = client.lock(); alive != nullptr && known == fingerprint) return alive;
    }
    ASSIGN_OR_RETURN(std::shared_ptr<S3Client> client, MakeClient(settings));
    clients_.emplace_back(fingerprint, client);
    return client;
  }

 private:
  using Fingerprint = std::pair<std::string, const RequestMetrics*>;  // ComputeFingerprint and the metrics

  Mutex mutex_;
  std::vector<std::pair<Fingerprint, std::weak_ptr<S3Client>>> clients_ ABSL_GUARDED_BY(mutex_);
};

ClientRegistry& GetClients() {
  static ClientRegistry registry;
  return registry;
}

}  // namespace

Result<std::shared_ptr<ObjectStore>> OpenS3Store(const std::string& uri, const S3Settings& settings) {
  const std::string path = uri.substr(std::string("s3://").size());
  const size_t slash = std::min(path.find('/'), path.size());
  std::string root = path.substr(std::min(slash + 1, path.size()));
  if (root.size() > 1 && root.ends_with('/')) root.pop_back();
  if (!root.empty()) {
    Status good = CheckKey(root);
    if (!good.ok()) return std::move(good).While("reading '" + uri + "'");
  }
  Result<S3Bucket> bucket = MakeS3Bucket(path.substr(0, slash), settings);
  if (!bucket.ok()) return std::move(bucket).status().While("reading '" + uri + "'");
  Result<std::shared_ptr<S3Client>> client = GetClients().FindOrMakeClient(settings);
  if (!client.ok()) return std::move(client).status().While("opening '" + uri + "'");
  return std::shared_ptr<ObjectStore>(
      std::make_shared<S3Store>(*std::move(client), *std::move(bucket), std::move(root)));
}

}  // namespace espalier::storage
