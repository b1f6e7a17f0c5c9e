#include "services/storage/s3/bucket.h"

#include <algorithm>

namespace espalier::storage {
namespace {

bool IsLowerOrDigit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool IsLetterOrDigit(char c) { return IsLowerOrDigit(c) || (c >= 'A' && c <= 'Z'); }

// The rules: docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
Status CheckHostBucketName(const std::string& name) {
  const bool good =
      name.size() >= 3 && name.size() <= 63 && IsLowerOrDigit(name.front()) && IsLowerOrDigit(name.back()) &&
      std::all_of(name.begin(), name.end(), [](char c) { return IsLowerOrDigit(c) || c == '.' || c == '-'; }) &&
      name.find("..") == std::string::npos;
  if (good) return Status();
  return InvalidArgument("'" + name.substr(0, 64) +
                         "' is not a valid bucket name with ESPALIER_S3_ADDRESSING=virtual-host: expected 3 to 63 of "
                         "a-z, 0-9, '.' and '-', no '..', and a letter or digit at both ends");
}

// The rules: docs.ceph.com/en/latest/radosgw/s3/bucketops, with rgw_relaxed_s3_bucket_names.
Status CheckPathBucketName(const std::string& name) {
  const bool good = name.size() >= 3 && name.size() <= 255 && IsLetterOrDigit(name.front()) &&
                    IsLetterOrDigit(name.back()) &&
                    std::all_of(name.begin(), name.end(),
                                [](char c) { return IsLetterOrDigit(c) || c == '.' || c == '-' || c == '_'; }) &&
                    name.find("..") == std::string::npos;
  if (good) return Status();
  return InvalidArgument("'" + name.substr(0, 64) +
                         "' is not a valid bucket name: expected 3 to 255 letters, digits, '.', '-' and '_', no "
                         "'..', and a letter or digit at both ends");
}

// Returns the path of an endpoint without a trailing slash.
Result<std::string> CheckEndpointPath(const http::Url& endpoint) {
  std::string path = endpoint.path;
  if (path.ends_with('/')) path.pop_back();
  const bool good = std::all_of(path.begin(), path.end(),
                                [](char c) {
                                  return IsLetterOrDigit(c) || c == '/' || c == '-' || c == '.' || c == '_' || c == '~';
                                }) &&
                    (path + "/").find("//") == std::string::npos && (path + "/").find("/./") == std::string::npos &&
                    (path + "/").find("/../") == std::string::npos;
  if (good) return path;
  return InvalidArgument("the path of the S3 endpoint " + endpoint.Origin() +
                         "/... is not valid: expected letters, digits, '-', '.', '_' and '~' between single slashes, "
                         "and no segment '.' or '..'");
}

}  // namespace

bool IsRegion(const std::string& text) {
  return !text.empty() && text.size() <= 64 &&
         std::all_of(text.begin(), text.end(), [](char c) { return IsLowerOrDigit(c) || c == '-' || c == '_'; });
}

std::string AwsOrigin(const std::string& service, const std::string& region) {
  const std::string domain = region.starts_with("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
  return "https://" + service + "." + region + "." + domain;
}

Result<S3Bucket> MakeS3Bucket(const std::string& name, const S3Settings& settings) {
  const bool by_path = settings.addressing == S3Addressing::kPath;
  RETURN_IF_ERROR(by_path ? CheckPathBucketName(name) : CheckHostBucketName(name));
  if (!IsRegion(settings.region)) {
    return InvalidArgument("'" + settings.region.substr(0, 64) +
                           "' is not a valid region; expected a name like us-east-1");
  }
  Result<http::Url> endpoint =
      http::ParseUrl(settings.endpoint.empty() ? AwsOrigin("s3", settings.region) : settings.endpoint);
  if (!endpoint.ok()) return std::move(endpoint).status().While("reading the S3 endpoint");
  ASSIGN_OR_RETURN(const std::string path, CheckEndpointPath(*endpoint));
  return S3Bucket{.scheme = endpoint->scheme,
                  .host = by_path ? endpoint->authority : name + "." + endpoint->authority,
                  .path_prefix = by_path ? path + "/" + name : path,
                  .name = name,
                  .region = settings.region};
}

S3Bucket InRegion(S3Bucket bucket, const std::string& region) {
  const std::string old_host = AwsOrigin("s3", bucket.region).substr(std::string("https://").size());
  const std::string new_host = AwsOrigin("s3", region).substr(std::string("https://").size());
  if (bucket.host == old_host) bucket.host = new_host;
  if (bucket.host == bucket.name + "." + old_host) bucket.host = bucket.name + "." + new_host;
  bucket.region = region;
  return bucket;
}

}  // namespace espalier::storage
