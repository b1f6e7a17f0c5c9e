// A run's committed outputs (docs/outputs.md), copied to a local folder as `espalier run` leaves them there:
//
//   DIR/model/best.safetensors ...   without the incarnation's folder
//   DIR/result.json
//   DIR/manifest.json                written last; names what has been fetched, so that `espalier verify DIR` works
//
// Each file is verified by the manifest's checksums as it arrives and appears under its name when it is whole. A fetch
// that was broken off goes on where it was; one that asks for more of the same run adds to the folder.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "services/storage/object_store.h"

namespace espalier::ctl::outputs {

struct FetchOptions {
  std::string folder;             // made where it is missing
  std::set<std::string> choices;  // selection.h
  std::function<void(const std::string& file, uint64_t present_bytes, uint64_t all_bytes)> progress;
  std::function<bool()> stop_requested;
};

struct FetchReport {
  uint64_t incarnation = 0;
  std::vector<std::string> files;  // below the folder
  uint64_t bytes = 0;              // of all of them
  uint64_t fetched_bytes = 0;      // the others were there
  std::map<std::string, std::string> not_written;
};

// NotFound: nothing has been committed. FailedPrecondition: the folder holds another run's outputs. InvalidArgument: a
// manifest that is too large, or names files which cannot be. AlreadyExists: somebody else's result.json is there.
// Others as MakeLocalFile's.
Result<FetchReport> FetchOutputs(storage::ObjectStore& store, const std::string& prefix, const FetchOptions& options);

}  // namespace espalier::ctl::outputs
