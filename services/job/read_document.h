// What every program does with --job and --set before the document is parsed.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "services/base/status.h"

namespace espalier::job {

// The document's text: a file's or a pipe's, of at most 4 MiB.
Result<std::string> ReadDocument(const std::string& path);

// "path=value" as ParseJob takes it: {"path", "value"}. The value may be empty and hold further '='.
Result<std::vector<std::pair<std::string, std::string>>> ParseSettings(const std::vector<std::string>& settings);

}  // namespace espalier::job
