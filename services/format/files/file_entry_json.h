// The JSON form of a FileEntry in manifests: {"key", "size_bytes", "xxh3_64": [one per block]}.
#pragma once

#include <nlohmann/json.hpp>

#include "services/format/files/file_entry.h"
#include "services/format/files/json_fields.h"

namespace espalier::format {

nlohmann::ordered_json FileEntryToJson(const FileEntry& file);

// Parses an untrusted entry. Returns InvalidArgument that names the field if a field is missing or invalid, or if the
// number of checksums is not the number of blocks.
Result<FileEntry> FileEntryFromJson(const JsonFields& fields);

}  // namespace espalier::format
