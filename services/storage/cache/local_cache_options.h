// Location and size of a cache of local copies (local_cache.h).
#pragma once

#include <cstdint>
#include <string>

#include "services/base/environment.h"

namespace espalier::storage {

struct LocalCacheOptions {
  std::string folder;      // created if missing; a relative path starts at the working directory
  uint64_t max_bytes = 0;  // of all entries together; 0: limited by the disk only
};

// Returns $XDG_CACHE_HOME/espalier, otherwise $HOME/.cache/espalier; "" if neither variable is an absolute path.
std::string DefaultCacheFolder(const EnvironmentMap& environment);

}  // namespace espalier::storage
