// Quotes text for a POSIX shell.
#pragma once

#include <string>

namespace espalier::run {

// Returns `text` as one word of a shell command: unchanged if it is not empty and contains no special characters,
// otherwise in single quotes.
std::string ShellWord(const std::string& text);

}  // namespace espalier::run
