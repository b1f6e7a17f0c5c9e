#include "services/storage/open_store.h"

#include <filesystem>

#include "services/base/uri_scheme.h"
#include "services/storage/file_store.h"
#include "services/storage/file_uri.h"
#include "services/storage/object_key.h"
#include "services/storage/s3/open_s3.h"

namespace espalier::storage {

Result<StoreLocation> OpenStore(const std::string& uri, const StoreSettings& settings) {
  const std::string canonical = CanonicalUri(uri);
  if (canonical.starts_with("s3://")) {
    ASSIGN_OR_RETURN(std::shared_ptr<ObjectStore> store, OpenS3Store(canonical, settings.s3));
    return StoreLocation{std::move(store), ""};
  }
  ASSIGN_OR_RETURN(const std::string path, ToLocalPath(canonical));
  std::error_code error;
  const std::filesystem::path root = std::filesystem::absolute(path, error).lexically_normal();
  if (error) return FromErrno(error.value(), "resolving '" + path + "'");
  // The folder is the root of the store, so that no key can leave it.
  std::string text = root.string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return StoreLocation{std::make_shared<FileStore>(text), ""};
}

Result<StoreLocation> LocateFile(const std::string& uri, const StoreOpener& open_store) {
  const std::string canonical = CanonicalUri(uri);
  const std::string scheme = canonical.starts_with("file:") ? "file:" : "";
  const std::string path = canonical.substr(scheme.size());
  const size_t slash = path.rfind('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
  if (folder.empty() || folder == "//") folder += "/";
  const bool names_host = !scheme.empty() && folder == "/" && path.starts_with("//");  // "file://best.pt"
  if (name.empty() || names_host || folder.ends_with(":/")) {                          // "models/", "s3://bucket"
    return InvalidArgument("'" + uri + "' names no file: expected a path, file:///FOLDER/NAME or s3://BUCKET/NAME");
  }
  ASSIGN_OR_RETURN(StoreLocation location, open_store(scheme + folder));
  location.prefix = JoinKey(location.prefix, name);
  return location;
}

}  // namespace espalier::storage
