// One object as a local file: whole and verified under its name, or not there at all. What a broken try has left lies
// beside it under another name, and the next try keeps the blocks of it that are good.
#pragma once

#include <filesystem>
#include <functional>

#include "services/base/clock.h"
#include "services/format/outputs_manifest.h"
#include "services/storage/object_store.h"

namespace espalier::ctl::outputs {

struct LocalFileOptions {
  Deadline deadline = Deadline::After(std::chrono::hours(24));
  std::function<void(uint64_t present_bytes)> progress;
  std::function<bool()> stop_requested;
};

// Bytes that were fetched; 0 where the file was there already. AlreadyExists: another file has the name, and keeps it.
// Unavailable: another process is at it. DataLoss: the object is not what `file` says. ResourceExhausted: no room, and
// nothing is left behind. Other errors are the store's.
Result<uint64_t> MakeLocalFile(storage::ObjectStore& store, const std::string& key, const format::FileEntry& file,
                               const std::filesystem::path& path, const LocalFileOptions& options);

}  // namespace espalier::ctl::outputs
