// Reads the job document that a flag names, and parses the values of the flag --set.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "services/base/status.h"

namespace espalier::job {

// Returns the text of the document: a file or pipe of at most 4 MiB. Errors are those of ReadFile (base/file.h).
Result<std::string> ReadDocument(const std::string& path);

// Splits each "path=value" at its first '=' into {"path", "value"}, as ParseJob takes them. The value may be empty.
// InvalidArgument if there is no '=' or the path is empty.
Result<std::vector<std::pair<std::string, std::string>>> ParseSettings(const std::vector<std::string>& settings);

}  // namespace espalier::job
