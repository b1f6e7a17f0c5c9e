#include "services/apps/partitioning/local_path.h"

namespace espalier::partitioning {

Result<std::string> LocalPathOf(const std::string& uri) {
  std::string path = uri;
  if (uri.starts_with("file:")) {
    path.erase(0, 5);
    if (path.starts_with("//")) path.erase(0, 2);
    if (uri.starts_with("file://") && !path.starts_with("/")) {
      return InvalidArgument("'" + uri + "' names a host; a file URI has three slashes: file:///path");
    }
  } else if (const size_t colon = uri.find("://"); colon != std::string::npos) {
    return InvalidArgument("sources are read from file: URIs or paths, not from '" + uri.substr(0, colon) + "://' (" +
                           uri + ")");
  }
  if (path.empty()) return InvalidArgument("'" + uri + "' names no file or folder");
  return path;
}

}  // namespace espalier::partitioning
