// Paths of the files in a run's folder. The folder may be on another machine.
#pragma once

#include <string>
#include <utility>

namespace espalier::run {

class RunPaths {
 public:
  explicit RunPaths(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }  // absolute
  std::string JobFile() const { return path_ + "/job.json"; }
  std::string ResultFile() const { return path_ + "/result.json"; }
  std::string LogFile(const std::string& child) const { return path_ + "/logs/" + child + ".log"; }
  // Standard output of a child that prints its result.
  std::string OutputFile(const std::string& child) const { return path_ + "/run/" + child + ".out"; }
  std::string ReadyFile(const std::string& child) const { return path_ + "/run/" + child + ".json"; }
  std::string StateFile() const { return path_ + "/run/state.json"; }
  // The termination message of a child (telemetry/termination.h).
  std::string TerminationFile(const std::string& child) const { return path_ + "/run/" + child + ".termination.json"; }
  std::string ScriptFolder() const { return path_ + "/run/script"; }  // for the script of the user's program
  std::string TlsFolder() const { return path_ + "/run/tls"; }
  std::string AuditFile(const std::string& child) const { return path_ + "/audit/" + child + ".bin"; }

 private:
  std::string path_;
};

}  // namespace espalier::run
