// Formats a partitioning's manifest as text and as JSON, for `espalier inspect`.
#pragma once

#include <string>

#include "services/format/partition/manifest.h"

namespace espalier::cli {

// Returns several lines of text. `uri` is where the partitioning is.
std::string ManifestAsText(const format::Manifest& manifest, const std::string& uri);
// Returns one line of JSON with the partition book, columns, splits and quality, and the bytes of each partition.
std::string ManifestAsJson(const format::Manifest& manifest, const std::string& uri);

}  // namespace espalier::cli
