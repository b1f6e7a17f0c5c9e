// Reads the last lines of a child's log file.
#pragma once

#include <string>
#include <vector>

namespace espalier::run {

// Returns at most `count` lines from the last 64 KiB of the file, oldest first; empty if it cannot be read. Each line
// is formatted by ReadableLine and shortened in the middle to 400 bytes.
std::vector<std::string> LastLines(const std::string& path, size_t count);

// Returns a line of a log as text for a terminal: a JSON record becomes "ERROR message key=value", and control
// characters become '?'.
std::string ReadableLine(const std::string& line);

}  // namespace espalier::run
