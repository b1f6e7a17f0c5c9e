// Unpacks the archive of source files that a job names (docs/programs.md#a-script). The author of the archive can run
// code in the container of the program; unpacking must not grant more than that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace espalier::script {

struct ArchiveLimits {
  uint64_t max_bytes = uint64_t{256} << 20;  // unpacked size of all files together
  size_t max_entries = 10'000;               // entries of the archive; also the limit of created folders
};

// Writes the files of `archive` (tar, tar with gzip, or zip, detected by content) below `folder`, which must exist. All
// users can read the files, and execute those that have the owner's execute bit in the archive. InvalidArgument for an
// empty, damaged or encrypted archive, for an archive above `limits`, for entries that are neither files nor folders
// (such as links), for files that occur twice, and for paths that lead outside of `folder`; the message begins with
// `shown`, the archive's name for users. Other errors are those of writing to `folder`. After an error, the files that
// were already written stay.
Status UnpackArchive(std::string_view archive, const std::string& shown, const std::string& folder,
                     const ArchiveLimits& limits = {});

}  // namespace espalier::script
