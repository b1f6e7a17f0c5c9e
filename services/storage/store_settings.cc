// A setting that is not plain text has a function that parses it and names the variable in errors. Values that become
// part of HTTP headers or host names, and the path in AWS_CA_BUNDLE, are first checked for control characters.
#include "services/storage/store_settings.h"

#include "services/base/ascii.h"
#include "services/base/parse_number.h"

namespace espalier::storage {
namespace {

using telemetry::Secret;

// Returns the value of `name` or, if it is not set, of `fallback`; "" if neither variable is set.
std::string FindEither(const EnvironmentMap& environment, const char* name, const char* fallback) {
  const std::string value = FindValue(environment, name);
  return value.empty() ? FindValue(environment, fallback) : value;
}

// Rejects control characters, because the value becomes part of an HTTP header, a host name or a path.
Status CheckPrintable(const EnvironmentMap& environment, const char* name) {
  for (const char c : FindValue(environment, name)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      return InvalidArgument(std::string(name) + " has a line break or another control character");
    }
  }
  return Status();
}

// Checks that both variables are set or neither is.
Status CheckBothOrNeither(const EnvironmentMap& environment, const char* name, const char* other) {
  if (FindValue(environment, name).empty() == FindValue(environment, other).empty()) return Status();
  const bool first_is_missing = FindValue(environment, name).empty();
  return InvalidArgument(std::string(first_is_missing ? other : name) + " is set, but " +
                         (first_is_missing ? name : other) + " is not: expected both or neither");
}

Result<S3Addressing> ParseAddressing(const EnvironmentMap& environment) {
  const std::string value = FindValue(environment, "ESPALIER_S3_ADDRESSING");
  if (value.empty() || value == "path") return S3Addressing::kPath;
  if (value == "virtual-host") return S3Addressing::kVirtualHost;
  return InvalidArgument("ESPALIER_S3_ADDRESSING is '" + value + "'; expected path or virtual-host");
}

// Accepts any case, like the AWS tools.
Result<S3Checksums> ParseChecksums(const EnvironmentMap& environment, const char* name) {
  const std::string given = FindValue(environment, name);
  const std::string value = ToLowerAscii(given);
  if (value.empty() || value == "when_supported") return S3Checksums::kWhenSupported;
  if (value == "when_required") return S3Checksums::kWhenRequired;
  return InvalidArgument(std::string(name) + " is '" + given + "'; expected when_supported or when_required");
}

Result<bool> ParseInstanceMetadata(const EnvironmentMap& environment) {
  const std::string value = FindValue(environment, "ESPALIER_S3_INSTANCE_METADATA");
  if (value.empty() || value == "false") return false;
  if (value == "true") return true;
  return InvalidArgument("ESPALIER_S3_INSTANCE_METADATA is '" + value + "'; expected true or false");
}

Result<std::chrono::seconds> ParsePatience(const EnvironmentMap& environment, std::chrono::seconds default_patience) {
  const std::string value = FindValue(environment, "ESPALIER_S3_PATIENCE_SECONDS");
  if (value.empty()) return default_patience;
  const int64_t number = ParseNumber<int64_t>(value).value_or(0);
  if (number >= 1 && number <= 3600) return std::chrono::seconds(number);
  return InvalidArgument("ESPALIER_S3_PATIENCE_SECONDS is '" + value + "'; expected a whole number from 1 to 3600");
}

Status CheckRelativeUri(const EnvironmentMap& environment) {
  const std::string relative = FindValue(environment, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  if (relative.empty() || relative.starts_with('/')) return Status();
  return InvalidArgument("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI must start with '/'");
}

std::string FindContainerUri(const EnvironmentMap& environment) {
  // A relative URI is that of the agent of ECS, which has this fixed address.
  const std::string relative = FindValue(environment, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  if (!relative.empty()) return "http://169.254.170.2" + relative;
  return FindValue(environment, "AWS_CONTAINER_CREDENTIALS_FULL_URI");
}

S3CredentialSettings ParseCredentialSettings(const EnvironmentMap& environment) {
  S3CredentialSettings settings;
  settings.access_key_id = FindValue(environment, "AWS_ACCESS_KEY_ID");
  settings.secret_access_key = Secret(FindValue(environment, "AWS_SECRET_ACCESS_KEY"));
  settings.session_token = Secret(FindValue(environment, "AWS_SESSION_TOKEN"));
  settings.shared_file = FindValue(environment, "AWS_SHARED_CREDENTIALS_FILE");
  if (const std::string home = FindValue(environment, "HOME"); !home.empty()) {
    settings.default_shared_file = home + "/.aws/credentials";
    settings.config_file = home + "/.aws/config";
  }
  if (const std::string file = FindValue(environment, "AWS_CONFIG_FILE"); !file.empty()) settings.config_file = file;
  if (const std::string profile = FindValue(environment, "AWS_PROFILE"); !profile.empty()) settings.profile = profile;
  settings.web_identity_token_file = FindValue(environment, "AWS_WEB_IDENTITY_TOKEN_FILE");
  settings.role_arn = FindValue(environment, "AWS_ROLE_ARN");
  settings.role_session_name = FindValue(environment, "AWS_ROLE_SESSION_NAME");
  settings.sts_endpoint = FindValue(environment, "AWS_ENDPOINT_URL_STS");
  settings.container_uri = FindContainerUri(environment);
  settings.container_token_file = FindValue(environment, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  settings.container_token = Secret(FindValue(environment, "AWS_CONTAINER_AUTHORIZATION_TOKEN"));
  return settings;
}

}  // namespace

Result<StoreSettings> ParseStoreSettings(const EnvironmentMap& environment) {
  for (const char* name : {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_STS", "AWS_REGION",
                           "AWS_DEFAULT_REGION", "AWS_CA_BUNDLE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
                           "AWS_SESSION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN"}) {
    RETURN_IF_ERROR(CheckPrintable(environment, name));
  }
  RETURN_IF_ERROR(CheckBothOrNeither(environment, "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"));
  RETURN_IF_ERROR(CheckRelativeUri(environment));
  StoreSettings settings;
  S3Settings& s3 = settings.s3;
  s3.endpoint = FindEither(environment, "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL");
  if (const std::string region = FindEither(environment, "AWS_REGION", "AWS_DEFAULT_REGION"); !region.empty()) {
    s3.region = region;
  }
  s3.ca_file = FindValue(environment, "AWS_CA_BUNDLE");
  ASSIGN_OR_RETURN(s3.addressing, ParseAddressing(environment));
  ASSIGN_OR_RETURN(s3.request_checksums, ParseChecksums(environment, "AWS_REQUEST_CHECKSUM_CALCULATION"));
  ASSIGN_OR_RETURN(s3.response_checksums, ParseChecksums(environment, "AWS_RESPONSE_CHECKSUM_VALIDATION"));
  s3.credentials = ParseCredentialSettings(environment);
  ASSIGN_OR_RETURN(s3.credentials.instance_metadata, ParseInstanceMetadata(environment));
  ASSIGN_OR_RETURN(s3.patience, ParsePatience(environment, s3.patience));
  return settings;
}

}  // namespace espalier::storage
