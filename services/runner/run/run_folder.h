// The folder of one run: locked, and rid of what an earlier run left.
#pragma once

#include <string>
#include <vector>

#include "services/base/descriptor.h"
#include "services/base/status.h"
#include "services/runner/run/run_paths.h"

namespace espalier::run {

// Holds the folder's lock: a second run in the same folder is refused while this lives, whichever process it is in.
// The kernel drops the lock when the process ends, however it ends.
class RunFolder : public RunPaths {
 public:
  // Makes the folder and locks it. Aborted while another run has it; FailedPrecondition for one with files in it that
  // no run has made.
  static Result<RunFolder> Open(const std::string& path);

  // What an earlier run left that could be taken for this one's. Its state and its checkpoints stay.

  // The files below run/: readiness, keys. The folder itself is made.
  Status RemoveRunFiles() const;
  // Results, audit, and the logs unless `keep_logs`.
  Status RemoveResults(bool keep_logs) const;
  // The same before a user's program, which saves in this folder what and where it likes: only what runs make of
  // themselves goes (result.json, and the logs unless `keep_logs`).
  Status RemoveResultOfProgram(bool keep_logs) const;

 private:
  RunFolder(std::string path, Descriptor lock) : RunPaths(std::move(path)), lock_(std::move(lock)) {}
  Status RemoveAll(const std::vector<std::string>& leftovers, bool keep_logs) const;

  Descriptor lock_;
};

}  // namespace espalier::run
