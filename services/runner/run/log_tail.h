// The end of a log file: what a child said last.
#pragma once

#include <string>
#include <vector>

namespace espalier::run {

// At most `count` lines from the file's last 64 KiB, oldest first; empty where it cannot be read. JSON log lines
// come back readable ("ERROR message key=value"); control characters are replaced, and a line of more than 400 bytes
// loses its middle.
std::vector<std::string> LastLines(const std::string& path, size_t count);

// One line of a log as people read it.
std::string ReadableLine(const std::string& line);

}  // namespace espalier::run
