// Simulates a process that has reached its limit of open files.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "services/base/check.h"

namespace espalier {

// During the lifetime of an object, this process can open only `spared` more file descriptors.
class NoDescriptorsLeft {
 public:
  explicit NoDescriptorsLeft(int spared = 0) {
    ESPALIER_CHECK(getrlimit(RLIMIT_NOFILE, &before_) == 0);
    rlimit few = before_;
    few.rlim_cur = 256;
    ESPALIER_CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
    for (int taken = dup(0); taken >= 0; taken = dup(0)) taken_.push_back(taken);
    ESPALIER_CHECK(errno == EMFILE);
    for (; spared > 0 && !taken_.empty(); --spared) {
      close(taken_.back());
      taken_.pop_back();
    }
  }
  ~NoDescriptorsLeft() {
    for (const int taken : taken_) close(taken);
    setrlimit(RLIMIT_NOFILE, &before_);
  }
  NoDescriptorsLeft(const NoDescriptorsLeft&) = delete;
  NoDescriptorsLeft& operator=(const NoDescriptorsLeft&) = delete;

 private:
  rlimit before_{};
  std::vector<int> taken_;
};

}  // namespace espalier
