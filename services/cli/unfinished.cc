#include "services/cli/unfinished.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>

namespace espalier::cli {

void RemoveUnfinished(const std::string& command, const std::string& folder) {
  // Under another name nobody makes new files in it.
  const std::string gone = folder + ".gone";
  std::error_code error;
  if (!folder.empty()) std::filesystem::rename(folder, gone, error);
  if (!folder.empty() && !error) std::filesystem::remove_all(gone, error);
  const char* const line_end = isatty(STDERR_FILENO) == 1 ? "\n" : "";  // of a bar
  std::fprintf(stderr, "%sespalier %s: asked to stop\n", line_end, command.c_str());
}

}  // namespace espalier::cli
