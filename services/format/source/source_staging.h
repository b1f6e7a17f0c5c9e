// Copies sources from stores to this host.
#pragma once

#include <memory>
#include <string>

#include "services/format/source/source_files.h"

namespace espalier::format {

struct LocalSource {
  std::string path;                 // a folder or a file
  std::shared_ptr<const void> pin;  // prevents eviction of the copies from the cache; null if the source is local
};

// Returns the source itself if it is local, otherwise copies of its files in access.cache. Files are downloaded in
// parallel and verified by size and, if the ETag is an MD5, by MD5; after a download the source is listed again to
// detect changes. An interrupted staging is resumed. `wanted` is the filter with which `source` was found. Errors:
// FailedPrecondition (no cache folder), Aborted (the source has changed), DataLoss, ResourceExhausted (no space),
// Unimplemented (the store has no ETags), Cancelled, DeadlineExceeded, and errors of the store.
Result<LocalSource> StageSource(const SourceFiles& source, const SourceAccess& access,
                                const std::function<bool(const std::string& name)>& wanted);

}  // namespace espalier::format
