// URIs of local files.
#pragma once

#include <string>

#include "services/base/status.h"

namespace espalier::storage {

// Whether `uri` is a path or has the scheme file: (not one of a store elsewhere, "s3://...").
bool IsLocalUri(const std::string& uri);

// "file:///a/b" and "file:/a/b" -> "/a/b"; "file:a/b" and "a/b" -> "a/b". InvalidArgument for other schemes (the
// message lists those that exist), for a host, and for an empty path.
Result<std::string> ToLocalPath(const std::string& uri);

}  // namespace espalier::storage
