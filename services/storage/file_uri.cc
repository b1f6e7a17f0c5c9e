#include "services/storage/file_uri.h"

namespace espalier::storage {

bool IsLocalUri(const std::string& uri) { return uri.starts_with("file:") || uri.find("://") == std::string::npos; }

Result<std::string> LocalPathOf(const std::string& uri) {
  if (!IsLocalUri(uri)) {
    return InvalidArgument("'" + uri + "' is not local: expected file: or a path, found '" +
                           uri.substr(0, uri.find("://")) + "://'");
  }
  std::string path = uri;
  if (uri.starts_with("file:")) {
    path.erase(0, 5);
    if (path.starts_with("//")) path.erase(0, 2);
    if (uri.starts_with("file://") && !path.starts_with("/")) {
      return InvalidArgument("'" + uri + "' names a host; a file URI has three slashes: file:///path");
    }
  }
  if (path.empty()) return InvalidArgument("'" + uri + "' names no file or folder");
  return path;
}

}  // namespace espalier::storage
