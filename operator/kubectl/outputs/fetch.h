// Copies a run's committed outputs (docs/outputs.md) to a local folder, in the layout of `espalier run`:
//
//   DIR/model/best.safetensors ...   without the incarnation's folder
//   DIR/result.json
//   DIR/manifest.json                written last; lists what was fetched, so that `espalier verify DIR` works
//
// Each file is verified by the manifest's checksums while it is downloaded, and gets its name when it is complete. An
// interrupted fetch can be resumed. A later fetch of other outputs of the same run adds them to the folder.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "services/storage/object_store.h"

namespace espalier::ctl::outputs {

struct FetchOptions {
  std::string folder;             // created if it is missing
  std::set<std::string> choices;  // see selection.h
  // `progress` and `stop_requested` may be null. Both numbers of bytes are sums over all chosen files.
  std::function<void(const std::string& file, uint64_t present_bytes, uint64_t all_bytes)> progress;
  std::function<bool()> stop_requested;
};

struct FetchReport {
  uint64_t incarnation = 0;
  std::vector<std::string> files;                  // paths relative to the folder
  uint64_t bytes = 0;                              // of all chosen files
  uint64_t fetched_bytes = 0;                      // the rest was present already
  std::map<std::string, std::string> not_written;  // outputs that the run could not write, with the reasons
};

// Fetches the chosen outputs of the run at `prefix`. Returns NotFound if nothing has been committed; FailedPrecondition
// if the folder holds the outputs of another run or incarnation; InvalidArgument if a choice is unknown, or if the
// manifest is too large or has file names that must not be written to the folder; AlreadyExists if the folder has no
// manifest and its result.json differs; Unavailable if another fetch uses the folder. Other errors are those of
// MakeLocalFile.
Result<FetchReport> FetchOutputs(storage::ObjectStore& store, const std::string& prefix, const FetchOptions& options);

}  // namespace espalier::ctl::outputs
