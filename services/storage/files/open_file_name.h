// Whether a path still names an open file.
#pragma once

#include <filesystem>

namespace espalier::storage {

// Returns whether `path` names the file that is open as `descriptor`: false if the path does not exist, or if the file
// was unlinked, renamed or replaced after it was opened.
bool NamesOpenFile(const std::filesystem::path& path, int descriptor);

}  // namespace espalier::storage
