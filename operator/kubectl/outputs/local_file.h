// Downloads one object to a local file, which appears under its name only when it is complete and verified. An
// interrupted attempt leaves a partial file of another name beside it, and the next attempt keeps its valid blocks.
#pragma once

#include <filesystem>
#include <functional>

#include "services/base/clock.h"
#include "services/format/results/outputs_manifest.h"
#include "services/storage/object_store.h"

namespace espalier::ctl::outputs {

struct LocalFileOptions {
  Deadline deadline = Deadline::After(std::chrono::hours(24));
  std::function<void(uint64_t present_bytes)> progress;  // this and the next may be null
  std::function<bool()> stop_requested;
};

// Returns the number of bytes fetched; 0 if the file is present already. Returns AlreadyExists if a different file has
// the name (it is kept); Unavailable if another process is downloading it; DataLoss if the object does not match
// `file`; ResourceExhausted if the disk is full (no partial file is left). Other errors are those of
// storage::DownloadBlocks and of the local file system.
Result<uint64_t> MakeLocalFile(storage::ObjectStore& store, const std::string& key, const format::FileEntry& file,
                               const std::filesystem::path& path, const LocalFileOptions& options);

}  // namespace espalier::ctl::outputs
