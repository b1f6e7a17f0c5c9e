#include "services/cli/unfinished.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>

namespace espalier::cli {

void RemoveUnfinished(const std::string& command, const std::string& folder) {
  // The other thread opens files by the old name, so it creates no new files in a renamed folder.
  const std::string gone = folder + ".gone";
  std::error_code error;
  if (!folder.empty()) std::filesystem::rename(folder, gone, error);
  if (!folder.empty() && !error) std::filesystem::remove_all(gone, error);
  const char* const line_end = isatty(STDERR_FILENO) == 1 ? "\n" : "";  // ends the line of a progress bar
  std::fprintf(stderr, "%sespalier %s: asked to stop\n", line_end, command.c_str());
}

}  // namespace espalier::cli
