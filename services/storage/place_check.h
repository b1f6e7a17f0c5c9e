// Whether a place in object storage exists, and the exit code of a failure that may have its cause there.
#pragma once

#include <string>
#include <vector>

#include "services/base/exit_code.h"
#include "services/storage/open_store.h"

namespace espalier::storage {

// Returns an error if the store cannot look up an object below `place`, for example because the bucket does not exist.
// `use` says in the error message what the place is for: "partitions".
Status CheckPlace(const StoreLocation& place, const std::string& use);

// Returns the process exit code for `failure`. If its status code means bad input (65) and one of `uris` is wrong,
// because it cannot be opened or the location does not exist, returns 64 (bad document). Skips empty URIs. Contacts the
// stores only if the status code means bad input.
ExitCode FindExitCode(const Status& failure, const std::vector<std::string>& uris, const StoreOpener& open_store);

}  // namespace espalier::storage
