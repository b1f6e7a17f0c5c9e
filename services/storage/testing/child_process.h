// Another program, for as long as a test needs it.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "services/base/status.h"

namespace espalier::storage {

// Killed and waited for on destruction, or when the thread that started it ends. One thread at a time.
class ChildProcess {
 public:
  // Runs the program with exactly that environment; what it prints goes to the file `log_path`.
  static Result<ChildProcess> Start(const std::vector<std::string>& arguments,
                                    const std::map<std::string, std::string>& environment, const std::string& log_path);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess();

  bool IsRunning() const;
  // SIGSTOP, SIGTERM, ...; nothing happens to one that has ended. After SIGSTOP none of its threads runs any more.
  void Signal(int number) const;

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}
  mutable pid_t pid_;  // -1: ended and waited for
};

}  // namespace espalier::storage
