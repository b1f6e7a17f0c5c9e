// The settings of object stores, read from the environment.
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

// Whether requests have x-amz-checksum-* headers. kWhenSupported: uploads, and downloads of whole objects, have them
// until the service rejects them. kWhenRequired: no request has them, because Espalier uses no operation that requires
// them. The names are those of AWS.
enum class S3Checksums { kWhenSupported, kWhenRequired };

// The sources of credentials, in this order: the access key, the shared credentials files, web identity, the container
// endpoint, and instance metadata if it is enabled. The first source that is configured is used; if it fails, no other
// source is tried.
struct S3CredentialSettings {
  std::string access_key_id;
  telemetry::Secret secret_access_key, session_token;
  std::string shared_file;          // if set, must exist and have the profile
  std::string default_shared_file;  // ~/.aws/credentials: used if it exists and has the profile's keys
  std::string config_file;          // ~/.aws/config: likewise, if default_shared_file is not used
  std::string profile = "default";
  std::string web_identity_token_file, role_arn, role_session_name;
  std::string sts_endpoint;                         // empty: the AWS endpoint of the region
  std::string container_uri, container_token_file;  // of the agent of EKS or ECS
  telemetry::Secret container_token;
  bool instance_metadata = false;
};

struct S3Settings {
  std::string endpoint;  // "https://s3.example.com:9000", optionally with a path; empty: AWS
  std::string region = "us-east-1";
  std::string ca_file;  // PEM; empty: the system's CA certificates
  S3Addressing addressing = S3Addressing::kPath;
  S3Checksums request_checksums = S3Checksums::kWhenSupported;   // sent with uploads
  S3Checksums response_checksums = S3Checksums::kWhenSupported;  // requested with downloads
  S3CredentialSettings credentials;
  // An operation starts its last request at most this long after it began, not counting the time of long transfers.
  // While the service does not respond at all, all operations together have this time, and after it each operation
  // still has time for one request (s3/service_silence.h).
  std::chrono::seconds patience{30};
  std::shared_ptr<RequestMetrics> metrics;  // null: no metrics
};

struct StoreSettings {
  S3Settings s3;
};

// Reads the settings from environment variables. An empty variable counts as not set. InvalidArgument names the
// variable.
// - Variables of the AWS tools: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_STS, AWS_REGION,
//   AWS_DEFAULT_REGION, AWS_CA_BUNDLE, AWS_REQUEST_CHECKSUM_CALCULATION, AWS_RESPONSE_CHECKSUM_VALIDATION,
//   AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_SHARED_CREDENTIALS_FILE, AWS_CONFIG_FILE,
//   AWS_PROFILE, AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN, AWS_ROLE_SESSION_NAME, AWS_CONTAINER_CREDENTIALS_FULL_URI,
//   AWS_CONTAINER_CREDENTIALS_RELATIVE_URI, AWS_CONTAINER_AUTHORIZATION_TOKEN, AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE
//   and HOME.
// - Variables of Espalier: ESPALIER_S3_ADDRESSING (path, virtual-host), ESPALIER_S3_INSTANCE_METADATA (true, false) and
//   ESPALIER_S3_PATIENCE_SECONDS (1 - 3600).
Result<StoreSettings> ParseStoreSettings(const EnvironmentMap& environment);

}  // namespace espalier::storage
