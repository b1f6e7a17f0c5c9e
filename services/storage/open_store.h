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

// A function like OpenStore with its settings bound, for code that opens several stores. Tests pass other stores.
using StoreOpener = std::function<Result<StoreLocation>(const std::string& uri)>;
inline StoreOpener OpenerWith(StoreSettings settings) {
  return [settings = std::move(settings)](const std::string& uri) { return OpenStore(uri, settings); };
}

// Returns the store of the folder that holds the file or object `uri`, and its key there as the prefix: "best.pt" in
// "s3://bucket/a" for "s3://bucket/a/best.pt"; a bare name is in the working directory. InvalidArgument if the URI
// names no file ("", "models/", "s3://bucket"); otherwise the errors of `open_store`. Makes no requests.
Result<StoreLocation> LocateFile(const std::string& uri, const StoreOpener& open_store);

}  // namespace espalier::storage
