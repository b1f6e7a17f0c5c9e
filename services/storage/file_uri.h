// URIs of local files.
#pragma once

#include <string>

#include "services/base/status.h"

namespace espalier::storage {

// Returns whether `uri` is a path or starts with "file:". URIs of other stores, such as "s3://...", are not local.
bool IsLocalUri(const std::string& uri);

// Returns the path in a local URI: "/a/b" for "file:///a/b" and "file:/a/b", "a/b" for "file:a/b" and "a/b".
// InvalidArgument for other schemes (the message lists the supported ones), for a URI with a host and for an empty
// path.
Result<std::string> ToLocalPath(const std::string& uri);

}  // namespace espalier::storage
