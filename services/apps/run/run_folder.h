// The folder of one run and what lies where in it.
#pragma once

#include <string>

#include "services/base/status.h"

namespace espalier::run {

// Holds the folder's lock: a second run in the same folder is refused while this lives, whichever process it is in.
// The kernel drops the lock when the process ends, however it ends.
class RunFolder {
 public:
  // Makes the folder and locks it. FailedPrecondition when another run has it.
  static Result<RunFolder> Open(const std::string& path);
  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&&) = delete;
  ~RunFolder();

  // Removes what an earlier run left that could be taken for this one's: results, readiness, audit, and the logs
  // unless `keep_logs`. Its state and its checkpoints stay.
  Status Clear(bool keep_logs) const;

  const std::string& path() const { return path_; }  // absolute
  std::string JobFile() const { return path_ + "/job.json"; }
  std::string ResultFile() const { return path_ + "/result.json"; }
  std::string PartitionsFolder() const { return path_ + "/partitions"; }
  std::string LogFile(const std::string& child) const { return path_ + "/logs/" + child + ".log"; }
  // Standard output of a child that answers there.
  std::string OutputFile(const std::string& child) const { return path_ + "/run/" + child + ".out"; }
  std::string ReadyFile(const std::string& child) const { return path_ + "/run/" + child + ".json"; }
  std::string StateFile() const { return path_ + "/run/state.json"; }
  // A child's last words.
  std::string TerminationFile(const std::string& child) const { return path_ + "/run/" + child + ".termination.json"; }
  std::string TlsFolder() const { return path_ + "/run/tls"; }
  std::string AuditFile(const std::string& child) const { return path_ + "/audit/" + child + ".bin"; }

 private:
  RunFolder(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}
  std::string path_;
  int lock_ = -1;
};

}  // namespace espalier::run
