// A cache of the digests of sources: an unchanged source is not read again to compute its digest.
#pragma once

#include <optional>
#include <string>

#include "services/base/status.h"

namespace espalier::format {

// Stores each digest on disk, in a file <folder>/digests/<key>. Thread-safe, also across processes.
class DigestCache {
 public:
  // An empty `folder` disables the cache.
  explicit DigestCache(const std::string& folder);

  // Returns the digest of `key`, or nullopt. `key` is a hash of 64 hexadecimal digits over everything on which the
  // digest depends.
  std::optional<std::string> Find(const std::string& key) const;

  // Stores a digest. Errors are ignored, because the digest can be computed again. Removes the older half of the
  // digests if there are more than 4096.
  void Put(const std::string& key, const std::string& digest) const;

 private:
  std::string folder_;
};

}  // namespace espalier::format
