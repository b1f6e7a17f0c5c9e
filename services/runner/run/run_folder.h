// Locks the output folder of a run and removes files that an earlier run left in it.
#pragma once

#include <string>
#include <vector>

#include "services/base/descriptor.h"
#include "services/base/status.h"
#include "services/runner/run/run_paths.h"

namespace espalier::run {

// Holds the folder's lock (flock on .lock). While this object exists, a second run in the same folder is refused, in
// this and in other processes. The kernel releases the lock when the process ends.
class RunFolder : public RunPaths {
 public:
  // Creates the folder if it is missing and locks it. Aborted if another run holds the lock. FailedPrecondition if no
  // run has used the folder and it contains files that a run would replace.
  static Result<RunFolder> Open(const std::string& path);

  // The following functions remove files of an earlier run that could be mistaken for files of this one. None removes
  // the state file or checkpoints.

  // Removes all files below run/, such as ready files and keys, except the state file. Creates run/ if it is missing.
  Status RemoveRunFiles() const;
  // Removes results, outputs and audits, and unless `keep_logs` the logs. Creates audit/ and logs/ if they are missing.
  Status RemoveResults(bool keep_logs) const;
  // For a run of a user's program: removes only result.json, and unless `keep_logs` the logs. Creates logs/ if it is
  // missing. A program may save files under any other name in this folder.
  Status RemoveResultOfProgram(bool keep_logs) const;

 private:
  RunFolder(std::string path, Descriptor lock) : RunPaths(std::move(path)), lock_(std::move(lock)) {}
  Status RemoveAll(const std::vector<std::string>& leftovers, bool keep_logs) const;

  Descriptor lock_;
};

}  // namespace espalier::run
