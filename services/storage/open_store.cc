#include "services/storage/open_store.h"

#include <filesystem>

#include "services/base/uri_scheme.h"
#include "services/storage/file_store.h"
#include "services/storage/file_uri.h"
#include "services/storage/s3/open_s3.h"

namespace espalier::storage {
Result<StoreLocation> OpenStore(const std::string& place, const StoreSettings& settings) {
  const std::string uri = CanonicalUri(place);
  if (uri.starts_with("s3://")) {
    ASSIGN_OR_RETURN(std::shared_ptr<ObjectStore> store, OpenS3Store(uri, settings.s3));
    return StoreLocation{std::move(store), ""};
  }
  ASSIGN_OR_RETURN(const std::string path, LocalPathOf(uri));
  std::error_code error;
  const std::filesystem::path root = std::filesystem::absolute(path, error).lexically_normal();
  if (error) return FromErrno(error.value(), "resolving '" + path + "'");
  // The folder is the store's root, so that no key can leave it.
  std::string text = root.string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return StoreLocation{std::make_shared<FileStore>(text), ""};
}

}  // namespace espalier::storage
