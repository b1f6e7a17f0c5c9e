// A folder for files that several tests of a process read.
#pragma once

#include <string>

#include "services/storage/testing/temporary_folder.h"

namespace espalier::trainer {

// Returns a folder of this process only, since other processes run tests at the same time. Removed at exit.
inline const std::string& FolderOfThisProcess() {
  static const storage::TemporaryFolder folder;
  return folder.path();
}

}  // namespace espalier::trainer
