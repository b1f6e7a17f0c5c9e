// Digests of sources that were read before, so that nobody reads an unchanged source only to find it unchanged.
#pragma once

#include <optional>
#include <string>

#include "services/base/status.h"

namespace espalier::format {

// Files <folder>/digests/<key>, each with a digest. Thread-safe, and safe for several processes.
class DigestCache {
 public:
  // "" for `folder`: remembers nothing.
  explicit DigestCache(const std::string& folder);

  // `key` is 64 hexadecimal digits, made of everything that the digest depends on.
  std::optional<std::string> Find(const std::string& key) const;
  // Best effort: what cannot be kept is computed again. The oldest go when there are many.
  void Put(const std::string& key, const std::string& digest) const;

 private:
  std::string folder_;
};

}  // namespace espalier::format
