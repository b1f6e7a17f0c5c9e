// A partitioning's manifest for people and for programs.
#pragma once

#include <string>

#include "services/format/manifest.h"

namespace espalier::cli {

std::string ManifestAsText(const format::Manifest& manifest, const std::string& uri);
// One line of JSON: partition book, columns, splits, quality and file sizes.
std::string ManifestAsJson(const format::Manifest& manifest, const std::string& uri);

}  // namespace espalier::cli
