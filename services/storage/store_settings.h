// How object stores are reached: what the environment says, as a value.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "services/base/environment.h"
#include "services/base/status.h"
#include "services/telemetry/log.h"

namespace espalier::storage {

class RequestMetrics;

enum class S3Addressing { kPath, kVirtualHost };  // https://host/bucket/key | https://bucket.host/key

// Whether x-amz-checksum-* headers are sent with every operation that has them, or never: Espalier uses none of the few
// operations that require them. AWS's names.
enum class S3Checksums { kWhenSupported, kWhenRequired };

// Where credentials are looked for, in this order; the first that is set up is used, and it fails where that one
// fails: access_key_id with secret_access_key, the shared credentials file, web identity, the container endpoint,
// and instance metadata only where it was asked for.
struct S3CredentialSettings {
  std::string access_key_id;
  telemetry::Secret secret_access_key, session_token;
  std::string shared_file;          // must exist and have the profile
  std::string default_shared_file;  // ~/.aws/credentials: used where it exists and has the profile
  std::string config_file;          // ~/.aws/config: likewise, after default_shared_file
  std::string profile = "default";
  std::string web_identity_token_file, role_arn, role_session_name;
  std::string sts_endpoint;  // empty: AWS's of the region
  std::string container_uri, container_token_file;
  telemetry::Secret container_token;
  bool instance_metadata = false;
};

struct S3Settings {
  std::string endpoint;  // "https://s3.example.com:9000", perhaps with a path; empty: AWS
  std::string region = "us-east-1";
  std::string ca_file;  // PEM; empty: the system's
  S3Addressing addressing = S3Addressing::kPath;
  S3Checksums request_checksums = S3Checksums::kWhenSupported;   // of uploads
  S3Checksums response_checksums = S3Checksums::kWhenSupported;  // asked for with downloads
  S3CredentialSettings credentials;
  // No request of an operation starts later than this after its first; on a silent service operations share the time.
  std::chrono::seconds patience{30};
  std::shared_ptr<RequestMetrics> metrics;  // null: nothing is counted
};

struct StoreSettings {
  S3Settings s3;
};

// Reads the names that AWS's own tools use: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_STS, AWS_REGION,
// AWS_DEFAULT_REGION, AWS_CA_BUNDLE, AWS_REQUEST_CHECKSUM_CALCULATION, AWS_RESPONSE_CHECKSUM_VALIDATION,
// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_SHARED_CREDENTIALS_FILE, AWS_CONFIG_FILE,
// AWS_PROFILE, AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN, AWS_ROLE_SESSION_NAME, AWS_CONTAINER_CREDENTIALS_FULL_URI,
// AWS_CONTAINER_CREDENTIALS_RELATIVE_URI, AWS_CONTAINER_AUTHORIZATION_TOKEN, AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE,
// and HOME; and ours: ESPALIER_S3_ADDRESSING (path, virtual-host), _INSTANCE_METADATA (true, false), _PATIENCE_SECONDS
// (1 - 3600). InvalidArgument names the variable. Empty: absent.
Result<StoreSettings> ParseStoreSettings(const EnvironmentMap& environment);

}  // namespace espalier::storage
