// Files that fit in memory.
#pragma once

#include <cstddef>
#include <string>

#include "services/base/status.h"

namespace espalier {

enum class FileKinds {
  kAny,      // pipes too, until their end, which may never come
  kRegular,  // others are refused at once
};

// All of the file. NotFound where there is none; InvalidArgument for a folder, for what `kinds` excludes, and for more
// than `max_bytes`. Errors name the path.
Result<std::string> ReadFile(const std::string& path, size_t max_bytes, FileKinds kinds = FileKinds::kAny);

}  // namespace espalier
