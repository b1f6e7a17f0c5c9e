// Opens the store that a URI names.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "services/storage/object_store.h"
#include "services/storage/store_settings.h"

namespace espalier::storage {

// A store and a key prefix in it.
struct StoreLocation {
  std::shared_ptr<ObjectStore> store;
  std::string prefix;  // "" or ends without '/'
};

// Returns the store for a URI: "file:///a/b", "file:a/b", a path or "s3://bucket/a/b" (also with "s3a://" or "S3://":
// services/base/uri_scheme.h). The store is rooted at the URI, so that no key can leave it, and the prefix is "".
// InvalidArgument for schemes without a driver and invalid S3 settings; FailedPrecondition for S3 without credentials.
// Makes no requests.
Result<StoreLocation> OpenStore(const std::string& uri, const StoreSettings& settings = {});

// A function that opens the store of a URI: OpenStore with its settings bound, or a function that a test passes.
using StoreOpener = std::function<Result<StoreLocation>(const std::string& uri)>;
// Returns OpenStore with `settings` bound.
inline StoreOpener OpenerWith(StoreSettings settings) {
  return [settings = std::move(settings)](const std::string& uri) { return OpenStore(uri, settings); };
}

// Opens the folder of the file or object `uri` as a store and returns the file's key in that store as the prefix:
// "s3://bucket/a/best.pt" gives the store "s3://bucket/a" and the prefix "best.pt". A name without a folder is in the
// working directory. InvalidArgument if the URI names no file ("", "models/", "s3://bucket"); otherwise the errors of
// `open_store`. Makes no requests.
Result<StoreLocation> LocateFile(const std::string& uri, const StoreOpener& open_store);

}  // namespace espalier::storage
