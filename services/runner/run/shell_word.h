// Text as one word of a POSIX shell's command line.
#pragma once

#include <string>

namespace espalier::run {

// Unchanged where no shell reads anything into it, else in single quotes.
std::string ShellWord(const std::string& text);

}  // namespace espalier::run
