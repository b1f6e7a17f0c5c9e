#pragma once

#include <string>

namespace espalier {

// Returns whether `text` is valid UTF-8, as JSON and YAML require of every string.
bool IsUtf8(const std::string& text);

}  // namespace espalier
