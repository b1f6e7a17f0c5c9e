#include "services/runner/run/plugin_path.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace espalier::run {

namespace fs = std::filesystem;

std::string PluginPath(const std::string& path, const std::string& folder) {
  std::error_code error;
  return fs::absolute(folder.empty() ? fs::path(path) : fs::path(folder) / path, error).lexically_normal().string();
}

Status CheckPluginFiles(const std::vector<job::ServerPlugin>& plugins, const std::string& folder) {
  for (const job::ServerPlugin& plugin : plugins) {
    const std::string path = PluginPath(plugin.path, folder);
    const std::string what = "spec.servers.plugins: plugin '" + plugin.name + "', " + path;
    if (access(path.c_str(), R_OK) != 0) return FromErrno(errno, what);
    std::error_code error;
    if (!fs::is_regular_file(path, error)) return InvalidArgument(what + ": it is not a file");
  }
  return Status();
}

}  // namespace espalier::run
