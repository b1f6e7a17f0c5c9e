// Where tests leave files that several of them may read.
#pragma once

#include <string>

#include "services/storage/testing/temporary_folder.h"

namespace espalier::trainer {

// Other processes run other tests at the same time. Removed when this one exits.
inline const std::string& FolderOfThisProcess() {
  static const storage::TemporaryFolder folder;
  return folder.path();
}

}  // namespace espalier::trainer
