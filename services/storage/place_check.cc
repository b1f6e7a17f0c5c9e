#include "services/storage/place_check.h"

#include "services/storage/object_key.h"

namespace espalier::storage {

Status CheckPlace(const StoreLocation& place, const std::string& use) {
  // Any key serves: NotFound also shows that the store can be reached.
  const Status found = place.store->Head(JoinKey(place.prefix, "manifest.json")).status();
  if (found.code() == StatusCode::kNotFound) return Status();
  return found.While("checking the location for " + use);
}

ExitCode FindExitCode(const Status& failure, const std::vector<std::string>& uris, const StoreOpener& open_store) {
  const ExitCode of_data = ToExitCode(failure.code());
  if (of_data != ExitCode::kBadInput) return of_data;
  for (const std::string& uri : uris) {
    if (uri.empty()) continue;
    const Result<StoreLocation> place = open_store(uri);
    const Status found = place.ok() ? CheckPlace(*place, uri) : place.status();
    // Other errors, such as a missing permission, do not mean that the URI is wrong.
    if (ToExitCodeOfPlace(found.code()) == ExitCode::kBadDocument) return ExitCode::kBadDocument;
  }
  return of_data;
}

}  // namespace espalier::storage
