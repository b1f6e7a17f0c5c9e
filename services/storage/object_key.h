// What a key may look like.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace espalier::storage {

// File names with this start are a FileStore's unfinished writes: listings leave them out, keys must not have them.
inline constexpr std::string_view kTemporaryPrefix = ".espalier-";
inline constexpr size_t kMaxKeyBytes = 1024;  // S3's limit

// Relative, '/'-separated, no empty, "." or ".." part, none that starts with kTemporaryPrefix, no NUL
// or backslash, at most kMaxKeyBytes: InvalidArgument otherwise.
Status CheckKey(const std::string& key);

// What a key may start with: as above, but the last part may be empty or unfinished. "" is the prefix of all keys.
Status CheckPrefix(const std::string& prefix);

// "a/b" + "c" = "a/b/c", "" + "c" = "c".
std::string JoinKey(std::string_view prefix, std::string_view key);

// What the keys below `prefix` start with: "a/b" gives "a/b/", "" gives "".
std::string FolderPrefix(std::string_view prefix);

}  // namespace espalier::storage
