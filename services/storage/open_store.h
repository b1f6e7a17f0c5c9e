// From a URI to a store.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "services/storage/object_store.h"
#include "services/storage/store_settings.h"

namespace espalier::storage {

// The store and the key prefix that a URI names: "file:///a/b", "file:a/b", a bare path, or "s3://bucket/a/b" (also
// as "s3a://" and "S3://": services/base/uri_scheme.h).
// InvalidArgument for schemes without a driver and for S3 settings that are none; FailedPrecondition for S3 without
// credentials. Nothing is contacted. The store is rooted there, so that no key can leave it, and the prefix "".
struct StoreLocation {
  std::shared_ptr<ObjectStore> store;
  std::string prefix;  // "" or ends without '/'
};
Result<StoreLocation> OpenStore(const std::string& uri, const StoreSettings& settings = {});

// OpenStore with its settings, for those who open several; in tests, other stores.
using StoreOpener = std::function<Result<StoreLocation>(const std::string& uri)>;
inline StoreOpener OpenerWith(StoreSettings settings) {
  return [settings = std::move(settings)](const std::string& uri) { return OpenStore(uri, settings); };
}

// Returns the store of the folder that holds the file or object `uri`, and its key there as the prefix: "best.pt" in
// "s3://bucket/a" for "s3://bucket/a/best.pt"; a bare name is in the working directory. InvalidArgument where the URI
// names no file ("", "models/", "s3://bucket"); otherwise as `open_store`. Nothing is contacted.
Result<StoreLocation> LocateFile(const std::string& uri, const StoreOpener& open_store);

}  // namespace espalier::storage
