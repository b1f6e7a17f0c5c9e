#include <filesystem>

#include "services/storage/file_store.h"
#include "services/storage/object_store.h"

namespace espalier::storage {
namespace {

// "file:///a/b" and "file:/a/b" -> "/a/b"; "file:a/b" and "a/b" -> "a/b".
Result<std::string> PathOfUri(const std::string& uri) {
  if (uri.starts_with("file:")) {
    std::string path = uri.substr(5);
    if (!path.starts_with("//")) return path;
    path.erase(0, 2);
    if (path.starts_with("/")) return path;
    return InvalidArgument("'" + uri + "' names a host; a file URI has three slashes: file:///path");
  }
  const size_t colon = uri.find("://");
  if (colon == std::string::npos) return uri;
  return InvalidArgument("there is no driver for '" + uri.substr(0, colon) + "://' in '" + uri +
                         "'; expected file: or a path");
}

}  // namespace

Result<StoreLocation> OpenStore(const std::string& uri) {
  ASSIGN_OR_RETURN(const std::string path, PathOfUri(uri));
  if (path.empty()) return InvalidArgument("'" + uri + "' names no folder");
  std::error_code error;
  const std::filesystem::path root = std::filesystem::absolute(path, error).lexically_normal();
  if (error) return FromErrno(error.value(), "resolving '" + path + "'");
  // The folder is the store's root, so that no key can leave it.
  std::string text = root.string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return StoreLocation{std::make_shared<FileStore>(text), ""};
}

}  // namespace espalier::storage
