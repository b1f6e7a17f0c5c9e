#include "services/http/url.h"
#include "services/storage/s3/credential_sources.h"

namespace espalier::storage {
namespace {

// Returns whether the file has the keys of the profile. ~/.aws/credentials and ~/.aws/config are used only then,
// because they may not be intended for this process.
bool HasProfile(const std::string& path, const std::string& profile) {
  return !path.empty() && SharedFileCredentials(path, profile)->Fetch(Deadline::After(std::chrono::seconds(1))).ok();
}

// Returns a description of a profile that the AWS tools can use but this process cannot; "" if there is none.
std::string UnsupportedProfile(const S3CredentialSettings& from) {
  for (const std::string& path : {from.default_shared_file, from.config_file}) {
    const std::string setting = path.empty() ? "" : UnsupportedProfileSetting(path, from.profile);
    if (setting.empty()) continue;
    return ". Profile " + from.profile + " of " + path + " has " + setting +
           ", which is not supported: give this process the profile's keys by " +
           "eval \"$(aws configure export-credentials --profile " + from.profile + " --format env)\"";
  }
  return "";
}

Result<std::unique_ptr<CredentialSource>> MakeWebIdentity(const S3Settings& settings, http::Transport& transport) {
  if (settings.credentials.role_arn.empty()) {
    return InvalidArgument("AWS_WEB_IDENTITY_TOKEN_FILE is set, but AWS_ROLE_ARN is not");
  }
  if (!settings.credentials.sts_endpoint.empty()) {
    Result<http::Url> url = http::ParseUrl(settings.credentials.sts_endpoint);
    if (!url.ok()) return std::move(url).status().While("reading AWS_ENDPOINT_URL_STS");
  }
  return WebIdentityCredentials(settings, transport);
}

}  // namespace

Result<std::unique_ptr<CredentialSource>> MakeCredentialSource(const S3Settings& settings, http::Transport& transport) {
  const S3CredentialSettings& from = settings.credentials;
  if (!from.access_key_id.empty() && !from.secret_access_key.empty()) return FixedCredentials(from);
  if (!from.shared_file.empty()) return SharedFileCredentials(from.shared_file, from.profile);
  if (HasProfile(from.default_shared_file, from.profile)) {
    return SharedFileCredentials(from.default_shared_file, from.profile);
  }
  if (HasProfile(from.config_file, from.profile)) return SharedFileCredentials(from.config_file, from.profile);
  if (!from.web_identity_token_file.empty()) return MakeWebIdentity(settings, transport);
  if (!from.container_uri.empty()) return ContainerCredentials(from, transport);
  if (from.instance_metadata) return InstanceMetadataCredentials(transport);
  return FailedPrecondition(
      "there are no credentials for S3: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or another source of "
      "docs/object-storage.md" +
      UnsupportedProfile(from));
}

}  // namespace espalier::storage
