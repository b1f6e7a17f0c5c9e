#include "services/server/plugin_library.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <cerrno>
#include <set>

#include "services/graph/schema.h"

namespace espalier::server {
namespace {

constexpr uint32_t kMostFunctions = 256;

// Before the loader looks at it, which says less of it.
Status CheckIsFile(const std::string& path) {
  struct stat about {};
  if (stat(path.c_str(), &about) != 0) return FromErrno(errno, "opening it");
  if (!S_ISREG(about.st_mode)) return FailedPrecondition("it is no file");
  return Status();
}

Result<const EspalierPlugin*> Open(const std::string& path) {
  if (!path.starts_with('/')) return InvalidArgument("the path is not absolute");
  RETURN_IF_ERROR(CheckIsFile(path));
  // All symbols now rather than in the middle of a call; and none of them for other libraries to find.
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const reason = dlerror();
    return FailedPrecondition(std::string("it cannot be loaded: ") + (reason != nullptr ? reason : "no reason given"));
  }
  const auto entry = reinterpret_cast<EspalierPluginEntry>(dlsym(library, ESPALIER_PLUGIN_SYMBOL));
  if (entry == nullptr) {
    return FailedPrecondition(
        "it exports no " ESPALIER_PLUGIN_SYMBOL
        ": it is no plugin, or one for another version of the interface than this server's, which is " +
        std::to_string(ESPALIER_PLUGIN_VERSION) + " (services/plugin/espalier_plugin.h)");
  }
  const EspalierPlugin* const plugin = entry();
  if (plugin == nullptr) return FailedPrecondition(ESPALIER_PLUGIN_SYMBOL " returns nothing");
  if (plugin->interface_version != ESPALIER_PLUGIN_VERSION) {
    return FailedPrecondition("it was built for version " + std::to_string(plugin->interface_version) +
                              " of the interface, this server has version " + std::to_string(ESPALIER_PLUGIN_VERSION) +
                              " (services/plugin/espalier_plugin.h)");
  }
  return plugin;
}

Result<std::vector<PluginLibrary::Function>> FunctionsOf(const std::string& plugin_name, const EspalierPlugin& plugin) {
  if (plugin.num_functions == 0 || plugin.num_functions > kMostFunctions || plugin.functions == nullptr) {
    return FailedPrecondition("it has " + std::to_string(plugin.num_functions) + " functions, expected 1 to " +
                              std::to_string(kMostFunctions));
  }
  std::set<std::string> names;
  std::vector<PluginLibrary::Function> functions;
  for (uint32_t i = 0; i < plugin.num_functions; ++i) {
    const EspalierFunctionEntry& entry = plugin.functions[i];
    const std::string name = entry.name != nullptr ? entry.name : "";
    if (const Status valid = graph::CheckName("function", name); !valid.ok()) {
      return FailedPrecondition(valid.message());
    }
    if (entry.function == nullptr) return FailedPrecondition("its function '" + name + "' is null");
    if (!names.insert(name).second) return FailedPrecondition("it has two functions '" + name + "'");
    functions.push_back({plugin_name + "/" + name, entry.function, entry.is_idempotent != 0});
  }
  return functions;
}

}  // namespace

Result<PluginFile> ParsePluginFile(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) {
    return InvalidArgument("plugin '" + text + "': expected NAME=PATH, as in degrees=/opt/degrees.so");
  }
  PluginFile file{text.substr(0, equals), text.substr(equals + 1)};
  RETURN_IF_ERROR(graph::CheckName("plugin", file.name));
  if (!file.path.starts_with('/')) {
    return InvalidArgument("plugin '" + file.name + "': expected an absolute path, found '" + file.path + "'");
  }
  return file;
}

Result<PluginLibrary> PluginLibrary::Load(const PluginFile& file) {
  const std::string what = "plugin '" + file.name + "' (" + file.path + ")";
  RETURN_IF_ERROR(graph::CheckName("plugin", file.name));
  Result<const EspalierPlugin*> opened = Open(file.path).While(what);
  if (!opened.ok()) return std::move(opened).status();
  const EspalierPlugin& plugin = **opened;
  PluginLibrary library;
  library.name_ = file.name;
  library.version_ = plugin.version != nullptr ? plugin.version : "";
  ASSIGN_OR_RETURN(library.functions_, FunctionsOf(file.name, plugin).While(what));
  return library;
}

}  // namespace espalier::server
