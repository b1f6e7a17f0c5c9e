// A file with its checksums, as manifests name it: {"key", "size_bytes", "xxh3_64": [one per block]}.
#pragma once

#include <nlohmann/json.hpp>

#include "services/format/json_fields.h"
#include "services/format/manifest.h"

namespace espalier::format {

nlohmann::ordered_json FileEntryToJson(const FileEntry& file);

// InvalidArgument names the field: a key that is none, or not one checksum for each block. Untrusted input.
Result<FileEntry> FileEntryFromJson(const JsonFields& fields);

}  // namespace espalier::format
