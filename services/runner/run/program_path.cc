#include "services/runner/run/program_path.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <sstream>

namespace espalier::run {

namespace fs = std::filesystem;

Result<std::string> FindProgram(const std::string& program, const std::string& folder, const std::string& search_path) {
  std::error_code error;
  if (program.find('/') != std::string::npos) {
    const fs::path path = fs::absolute(folder.empty() ? fs::path(program) : fs::path(folder) / program, error);
    if (access(path.c_str(), X_OK) != 0) return FromErrno(errno, "the program " + path.string());
    if (fs::is_directory(path, error)) return InvalidArgument("the program " + path.string() + " is a folder");
    return path.lexically_normal().string();
  }
  std::istringstream folders(search_path);
  for (std::string searched; std::getline(folders, searched, ':');) {
    const fs::path path = fs::absolute(fs::path(searched) / program, error);
    if (!searched.empty() && access(path.c_str(), X_OK) == 0 && fs::is_regular_file(path, error)) return path.string();
  }
  return NotFound("the program " + program + " is in no folder of PATH (" + search_path + "); write ./" + program +
                  " for a program in the working directory");
}

}  // namespace espalier::run
