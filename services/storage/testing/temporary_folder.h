// A new empty folder for one test.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "services/base/check.h"

namespace espalier::storage {

// The destructor removes the folder and its content.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    // In memory if possible, because stores sync every file, which is slow on disks.
    const std::filesystem::path memory = "/dev/shm";
    const bool in_memory = access(memory.c_str(), W_OK | X_OK) == 0;
    path_ = ((in_memory ? memory : std::filesystem::temp_directory_path()) / "espalier-test-XXXXXX").string();
    ESPALIER_CHECK(mkdtemp(path_.data()) != nullptr) << path_;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace espalier::storage
