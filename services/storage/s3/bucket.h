// Where a bucket is: service, name, region, and how URLs spell it.
#pragma once

#include <string>

#include "services/http/url.h"
#include "services/storage/store_settings.h"

namespace espalier::storage {

struct S3Bucket {
  std::string scheme;       // "https"
  std::string host;         // what connections go to and the Host header says, with a port where it needs one
  std::string path_prefix;  // the endpoint's path, then "/bucket" with path addressing: "", "/bucket", "/s3/bucket"
  std::string name;
  std::string region;

  std::string Origin() const { return scheme + "://" + host; }
};

// Errors: InvalidArgument for an invalid bucket name, endpoint or region. With path addressing a name may be anything
// that Ceph and AWS's oldest region allow (upper case, '_', up to 255 characters); a host name cannot hold those.
Result<S3Bucket> MakeS3Bucket(const std::string& name, const S3Settings& settings);

// True for 1 to 64 of a-z, 0-9, '-' and '_'.
bool IsRegion(const std::string& text);

// Returns the bucket with requests signed for `region`; on AWS itself they go to that region's host too.
S3Bucket InRegion(S3Bucket bucket, const std::string& region);

// "https://sts.eu-west-1.amazonaws.com": a service of AWS in a region.
std::string AwsOrigin(const std::string& service, const std::string& region);

}  // namespace espalier::storage
