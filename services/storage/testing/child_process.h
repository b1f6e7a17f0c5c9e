// Another program, for as long as a test needs it.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "services/base/status.h"

namespace espalier::storage {

// Killed and waited for on destruction. One thread at a time.
class ChildProcess {
 public:
  // Runs the program with exactly that environment; what it prints goes to the file `log_path`.
  static Result<ChildProcess> Start(const std::vector<std::string>& arguments,
                                    const std::map<std::string, std::string>& environment, const std::string& log_path);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess();

  bool IsRunning() const;

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}
  mutable pid_t pid_;  // -1: ended and waited for
};

}  // namespace espalier::storage
