#include "services/cli/unfinished.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>

namespace espalier::cli {

void RemoveUnfinished(const std::string& command, const std::string& folder) {
  // The thread that writes the files opens them by the folder's old name, so it creates none in the renamed folder.
  const std::string gone = folder + ".gone";
  std::error_code error;
  if (!folder.empty()) {
    std::filesystem::rename(folder, gone, error);
    if (error == std::errc::directory_not_empty || error == std::errc::file_exists) {
      std::filesystem::remove_all(gone, error);  // an earlier removal was interrupted
      std::filesystem::rename(folder, gone, error);
    }
    if (!error) std::filesystem::remove_all(gone, error);
  }
  const char* const line_end = isatty(STDERR_FILENO) == 1 ? "\n" : "";  // ends the line of a progress bar
  std::fprintf(stderr, "%sespalier %s: asked to stop\n", line_end, command.c_str());
}

}  // namespace espalier::cli
