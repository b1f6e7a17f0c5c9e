// Creation of folders.
#pragma once

#include <filesystem>
#include <system_error>

#include "services/base/status.h"

namespace espalier {

// Creates the folder and its parents; OK if they exist. FailedPrecondition if one of them is a file.
inline Status MakeFolder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error) return Status();
  if (error == std::errc::not_a_directory || error == std::errc::file_exists) {
    return FailedPrecondition("making folder " + folder.string() + ": this path or a parent of it is a file");
  }
  return FromErrno(error.value(), "making folder " + folder.string());
}

}  // namespace espalier
