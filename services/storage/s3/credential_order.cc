#include "services/http/url.h"
#include "services/storage/s3/credential_sources.h"

namespace espalier::storage {
namespace {

// Returns whether the file has the keys of the profile. default_shared_file and config_file are used only if they
// contain these keys, because they may be intended for other processes.
bool HasKeys(const std::string& path, const std::string& profile) {
  return !path.empty() && MakeSharedFileSource(path, profile)->Fetch(Deadline::After(std::chrono::seconds(1))).ok();
}

// If the AWS tools can use the profile but this process cannot, returns a clause with the reason and a remedy;
// otherwise "".
std::string DescribeUnsupportedProfile(const S3CredentialSettings& from) {
  for (const std::string& path : {from.default_shared_file, from.config_file}) {
    const std::string setting = path.empty() ? "" : FindUnsupportedProfileSetting(path, from.profile);
    if (setting.empty()) continue;
    return ". Profile " + from.profile + " of " + path + " has " + setting +
           ", which is not supported: give this process the profile's keys by " +
           "eval \"$(aws configure export-credentials --profile " + from.profile + " --format env)\"";
  }
  return "";
}

Result<std::unique_ptr<CredentialSource>> CheckAndMakeWebIdentity(const S3Settings& settings,
                                                                  http::Transport& transport) {
  if (settings.credentials.role_arn.empty()) {
    return InvalidArgument("AWS_WEB_IDENTITY_TOKEN_FILE is set, but AWS_ROLE_ARN is not");
  }
  if (!settings.credentials.sts_endpoint.empty()) {
    Result<http::Url> url = http::ParseUrl(settings.credentials.sts_endpoint);
    if (!url.ok()) return std::move(url).status().While("reading AWS_ENDPOINT_URL_STS");
  }
  return MakeWebIdentitySource(settings, transport);
}

}  // namespace

Result<std::unique_ptr<CredentialSource>> MakeCredentialSource(const S3Settings& settings, http::Transport& transport) {
  const S3CredentialSettings& from = settings.credentials;
  if (!from.access_key_id.empty() && !from.secret_access_key.empty()) return MakeFixedSource(from);
  if (!from.shared_file.empty()) return MakeSharedFileSource(from.shared_file, from.profile);
  if (HasKeys(from.default_shared_file, from.profile)) {
    return MakeSharedFileSource(from.default_shared_file, from.profile);
  }
  if (HasKeys(from.config_file, from.profile)) return MakeSharedFileSource(from.config_file, from.profile);
  if (!from.web_identity_token_file.empty()) return CheckAndMakeWebIdentity(settings, transport);
  if (!from.container_uri.empty()) return MakeContainerSource(from, transport);
  if (from.instance_metadata) return MakeInstanceMetadataSource(transport);
  return FailedPrecondition(
      "there are no credentials for S3: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or configure another source "
      "that docs/object-storage.md lists" +
      DescribeUnsupportedProfile(from));
}

}  // namespace espalier::storage
