// Reading files that fit in memory.
#pragma once

#include <cstddef>
#include <string>

#include "services/base/status.h"

namespace espalier {

enum class FileKinds {
  kAny,      // also pipes: reads until end of file, which may never come
  kRegular,  // other kinds are rejected at once
};

// Returns the content of the file. Errors name the path: InvalidArgument for a folder, for a kind of file that `kinds`
// excludes and for a file larger than `max_bytes`; otherwise the error of FromErrno, such as NotFound.
Result<std::string> ReadFile(const std::string& path, size_t max_bytes, FileKinds kinds = FileKinds::kAny);

}  // namespace espalier
