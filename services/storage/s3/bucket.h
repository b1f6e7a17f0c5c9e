// Where a bucket is: service, name, region, and how URLs spell it.
#pragma once

#include <string>

#include "services/storage/http/url.h"
#include "services/storage/store_settings.h"

namespace espalier::storage {

struct S3Bucket {
  std::string scheme;       // "https"
  std::string host;         // what connections go to and the Host header says, with a port where it needs one
  std::string path_prefix;  // "/bucket" where the path holds it, else ""
  std::string name;
  std::string region;

  std::string Origin() const { return scheme + "://" + host; }
};

// InvalidArgument for a name that no bucket can have, or an endpoint or region that is none.
Result<S3Bucket> MakeS3Bucket(const std::string& name, const S3Settings& settings);

// "https://sts.eu-west-1.amazonaws.com": a service of AWS in a region.
std::string AwsOrigin(const std::string& service, const std::string& region);

}  // namespace espalier::storage
