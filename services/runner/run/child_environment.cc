#include "services/runner/run/child_environment.h"

#include <algorithm>
#include <cctype>

namespace espalier::run {
namespace {

std::string UpperCase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

}  // namespace

EnvironmentMap StoreEnvironment(const job::S3Storage& s3) {
  EnvironmentMap environment;
  if (!s3.endpoint.empty()) environment["AWS_ENDPOINT_URL_S3"] = s3.endpoint;
  if (!s3.region.empty()) environment["AWS_REGION"] = s3.region;
  return environment;
}

std::string FailpointsFor(ChildId child, const EnvironmentMap& own, bool is_first_start) {
  if (!is_first_start) return {};
  const std::string of_role = std::string("ESPALIER_FAILPOINTS_") + UpperCase(ToString(child.role));
  for (const std::string& name : {of_role + "_" + std::to_string(child.index), of_role}) {
    const auto found = own.find(name);
    if (found != own.end()) return found->second;
  }
  return {};
}

}  // namespace espalier::run
