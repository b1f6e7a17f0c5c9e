// The address of a bucket: its service, name and region, and how URLs contain its name.
#pragma once

#include <string>

#include "services/http/url.h"
#include "services/storage/store_settings.h"

namespace espalier::storage {

struct S3Bucket {
  std::string scheme;       // "https"
  std::string host;         // host to connect to, also the Host header; with a port unless it is the default
  std::string path_prefix;  // the endpoint's path, then "/bucket" with path addressing: "", "/bucket", "/s3/bucket"
  std::string name;
  std::string region;

  std::string Origin() const { return scheme + "://" + host; }
};

// Returns the address of a bucket. InvalidArgument for an invalid bucket name, endpoint or region. Path addressing also
// allows bucket names that are not valid in a host name (upper case, '_', up to 255 characters), because Ceph and AWS's
// oldest region have such buckets.
Result<S3Bucket> MakeS3Bucket(const std::string& name, const S3Settings& settings);

// Returns whether `text` has the form of a region: 1 to 64 characters of a-z, 0-9, '-' and '_'.
bool IsRegion(const std::string& text);

// Returns the bucket's address for requests that are signed for `region`. On AWS, its host is that of the region.
S3Bucket InRegion(S3Bucket bucket, const std::string& region);

// Returns the origin of an AWS service in a region, such as "https://sts.eu-west-1.amazonaws.com".
std::string AwsOrigin(const std::string& service, const std::string& region);

}  // namespace espalier::storage
