// Creation of folders.
#pragma once

#include <filesystem>
#include <system_error>

#include "services/base/status.h"

namespace espalier::storage {

// Creates the folder and its parents; OK if it exists. FailedPrecondition if a file has the name of one of them.
inline Status MakeFolder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error) return Status();
  if (error == std::errc::not_a_directory || error == std::errc::file_exists) {
    return FailedPrecondition("making folder " + folder.string() + ": a file with this name exists");
  }
  return FromErrno(error.value(), "making folder " + folder.string());
}

}  // namespace espalier::storage
