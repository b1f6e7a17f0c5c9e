// Rules for object keys.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace espalier::storage {

// The prefix of the names of files that are not objects: unfinished writes of a FileStore, and the locks, marks and
// incomplete files of a LocalCache. FileStore::List omits such files, and no part of a key may start with the prefix.
inline constexpr std::string_view kTemporaryPrefix = ".espalier-";
inline constexpr size_t kMaxKeyBytes = 1024;  // S3's limit

// Returns InvalidArgument for an invalid key. A key is relative and '/'-separated and has at most kMaxKeyBytes bytes.
// No part is empty, ".", ".." or starts with kTemporaryPrefix. NUL and backslash are not allowed.
Status CheckKey(const std::string& key);

// Returns InvalidArgument if no valid key can start with `prefix`, whose last part may be empty or incomplete. "" is
// the prefix of all keys.
Status CheckPrefix(const std::string& prefix);

// Joins two parts of a key: "a/b" and "c" give "a/b/c", "" and "c" give "c".
std::string JoinKey(std::string_view prefix, std::string_view key);

// Returns the prefix of the keys in the folder `prefix`: "a/b" gives "a/b/", "" gives "".
std::string FolderPrefix(std::string_view prefix);

}  // namespace espalier::storage
