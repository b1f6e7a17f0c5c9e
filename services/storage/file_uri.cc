#include "services/storage/file_uri.h"

#include "services/base/uri_scheme.h"

namespace espalier::storage {

bool IsLocalUri(const std::string& uri) { return uri.starts_with("file:") || uri.find("://") == std::string::npos; }

Result<std::string> ToLocalPath(const std::string& uri) {
  std::string path = CanonicalUri(uri);
  if (const std::string problem = SchemeProblem(path); !problem.empty()) {
    return InvalidArgument("'" + uri + "': " + problem);
  }
  if (!IsLocalUri(path)) {
    return InvalidArgument("'" + uri + "' is in object storage: expected a local path or a file: URI here");
  }
  if (path.starts_with("file:")) {
    path.erase(0, 5);
    const bool has_slashes = path.starts_with("//");
    if (has_slashes) path.erase(0, 2);
    if (has_slashes && !path.starts_with("/")) {
      return InvalidArgument("'" + uri + "' names a host; expected three slashes, as in file:///path");
    }
  }
  if (path.empty()) return InvalidArgument("'" + uri + "' names no file or folder");
  return path;
}

}  // namespace espalier::storage
