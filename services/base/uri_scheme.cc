#include "services/base/uri_scheme.h"

#include "services/base/ascii.h"

namespace espalier {

std::string CanonicalUri(std::string uri) {
  const size_t colon = uri.find(':');
  if (colon == std::string::npos) return uri;
  const std::string scheme = ToLowerAscii(uri.substr(0, colon));
  if (uri.compare(colon, 3, "://") != 0 || (scheme != "s3" && scheme != "s3a")) return uri;
  return "s3" + uri.substr(colon);
}

std::string SchemeProblem(const std::string& uri) {
  const size_t end = uri.find("://");
  if (end == std::string::npos || uri.starts_with("file:") || uri.starts_with("s3://")) return "";
  if (ToLowerAscii(uri.substr(0, end)) == "file") return "the scheme 'file:' must be in lower case";
  return "there is no driver for " + uri.substr(0, end) +
         "://: expected a path, a file: URI or s3://bucket/prefix (s3a:// is read as s3://)";
}

}  // namespace espalier
