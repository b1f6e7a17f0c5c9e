#include "services/storage/s3/bucket.h"

#include <algorithm>

namespace espalier::storage {
namespace {

bool IsLowerOrDigit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

// docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
Status CheckBucketName(const std::string& name) {
  const bool good =
      name.size() >= 3 && name.size() <= 63 && IsLowerOrDigit(name.front()) && IsLowerOrDigit(name.back()) &&
      std::all_of(name.begin(), name.end(), [](char c) { return IsLowerOrDigit(c) || c == '.' || c == '-'; }) &&
      name.find("..") == std::string::npos;
  if (good) return Status();
  return InvalidArgument(
      "'" + name.substr(0, 64) +
      "' cannot be a bucket's name: expected 3 to 63 of a-z, 0-9, '.' and '-', with a letter or digit at "
      "both ends");
}

Status CheckRegion(const std::string& region) {
  const bool good = !region.empty() && region.size() <= 64 && std::all_of(region.begin(), region.end(), [](char c) {
    return IsLowerOrDigit(c) || c == '-' || c == '_';
  });
  if (good) return Status();
  return InvalidArgument("'" + region.substr(0, 64) + "' is no region; expected one like us-east-1");
}

}  // namespace

std::string AwsOrigin(const std::string& service, const std::string& region) {
  const std::string domain = region.starts_with("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
  return "https://" + service + "." + region + "." + domain;
}

Result<S3Bucket> MakeS3Bucket(const std::string& name, const S3Settings& settings) {
  RETURN_IF_ERROR(CheckBucketName(name));
  RETURN_IF_ERROR(CheckRegion(settings.region));
  Result<Url> endpoint = ParseUrl(settings.endpoint.empty() ? AwsOrigin("s3", settings.region) : settings.endpoint);
  if (!endpoint.ok()) return std::move(endpoint).status().While("reading the S3 endpoint");
  if (endpoint->path != "" && endpoint->path != "/") {
    return InvalidArgument("the S3 endpoint " + endpoint->Origin() + " has a path; expected https://host[:port]");
  }
  S3Bucket bucket{.scheme = endpoint->scheme, .host = endpoint->authority, .name = name, .region = settings.region};
  switch (settings.addressing) {
    case S3Addressing::kPath: bucket.path_prefix = "/" + name; break;
    case S3Addressing::kVirtualHost: bucket.host = name + "." + bucket.host; break;
  }
  return bucket;
}

}  // namespace espalier::storage
