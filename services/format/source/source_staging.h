// Sources in stores, brought to where readers can read them.
#pragma once

#include <memory>
#include <string>

#include "services/format/source/source_files.h"

namespace espalier::format {

struct LocalSource {
  std::string path;                 // of a folder or a file
  std::shared_ptr<const void> pin;  // keeps staged files in the cache; null: the source is local
};

// The source itself where it is local, else copies of its files in access.cache: fetched in parallel, verified by
// size, by ETag where that is an MD5, and by a second listing; what a broken staging has left is not fetched again.
// Errors: FailedPrecondition (no cache folder), Aborted (it changed meanwhile), DataLoss, ResourceExhausted (no room),
// Cancelled, DeadlineExceeded, the store's.
Result<LocalSource> StageSource(const SourceFiles& source, const SourceAccess& access,
                                const std::function<bool(const std::string& name)>& wanted);

}  // namespace espalier::format
