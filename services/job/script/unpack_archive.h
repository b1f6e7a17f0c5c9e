// Unpacks an archive of source files that a job names (docs/programs.md#a-script). Its author
// runs code in the program's container; unpacking it must give no more than that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace espalier::script {

struct ArchiveLimits {
  uint64_t max_bytes = uint64_t{256} << 20;  // of all files, unpacked
  size_t max_entries = 10'000;               // of the archive, and of folders that are made
};

// Writes the files of `archive` (tar, tar with gzip, or zip; by its content) below `folder`, which exists. Files can be
// read by every user, and those that their owner may execute be executed. InvalidArgument, which names `shown` and the
// entry, for a damaged or encrypted archive, one above `limits`, and for entries that are neither files nor folders
// (links among them), that are named twice, or whose path leads outside; files before such an entry stay. Other errors
// are those of `folder`.
Status UnpackArchive(std::string_view archive, const std::string& shown, const std::string& folder,
                     const ArchiveLimits& limits = {});

}  // namespace espalier::script
