// URIs of local files.
#pragma once

#include <string>

#include "services/base/status.h"

namespace espalier::storage {

// A path, or a URI with the scheme file: (rather than one of a store elsewhere, "s3://...").
bool IsLocalUri(const std::string& uri);

// "file:///a/b" and "file:/a/b" -> "/a/b"; "file:a/b" and "a/b" -> "a/b". InvalidArgument for other schemes, for a
// host, and for nothing at all.
Result<std::string> LocalPathOf(const std::string& uri);

}  // namespace espalier::storage
