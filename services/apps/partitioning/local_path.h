// Where sources lie.
#pragma once

#include <string>

#include "services/base/status.h"

namespace espalier::partitioning {

// "file:///a/b" and "file:/a/b" -> "/a/b"; "file:a/b" and "a/b" -> "a/b". InvalidArgument for other schemes.
Result<std::string> LocalPathOf(const std::string& uri);

}  // namespace espalier::partitioning
