// Loads a shared library with dlopen and calls its exported function, which returns a table. Before the table is used,
// this file checks the version of the interface, then the number and names of functions and initializers. Tables of
// earlier versions are converted to the layout of the current version.
#include "services/server/plugin_library.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <cerrno>
#include <set>

#include "services/graph/schema.h"

namespace espalier::server {
namespace {

constexpr uint32_t kMaxEntries = 256;  // limit of the functions, and of the initializers

// The table that version 1 of the interface returned.
struct PluginOfVersion1 {
  uint32_t interface_version;
  uint32_t num_functions;
  const EspalierFunctionEntry* functions;
  const char* version;
};
constexpr const char* kSymbolOfVersion1 = "espalier_plugin_v1";
constexpr const char* kSymbolOfVersion2 = "espalier_plugin_v2";  // its tables have the layout of the current version

// Checks the file before dlopen is called, because the messages of dlopen contain less information.
Status CheckIsFile(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return FromErrno(errno, "opening it");
  if (!S_ISREG(info.st_mode)) return FailedPrecondition("it is not a file");
  return Status();
}

// Calls the plugin's exported function and returns its table. In every version, the first field of the table is the
// version.
template <class Plugin>
Result<const Plugin*> CallEntryPoint(void* function, const std::string& symbol, uint32_t version) {
  const Plugin* const plugin = reinterpret_cast<const Plugin* (*)()>(function)();
  if (plugin == nullptr) return FailedPrecondition(symbol + " returns nothing");
  if (plugin->interface_version == version) return plugin;
  return FailedPrecondition("the table from " + symbol + " was built for version " +
                            std::to_string(plugin->interface_version) + " of the interface, expected " +
                            std::to_string(version) + "; this server has versions 1 to " +
                            std::to_string(ESPALIER_PLUGIN_VERSION) + " (services/plugin/espalier_plugin.h)");
}

// Loads the library and returns its table in the layout of the current version. interface_version in it stays the
// version for which the plugin was built.
Result<EspalierPlugin> LoadTable(const std::string& path) {
  if (!path.starts_with('/')) return InvalidArgument("the path is not absolute");
  RETURN_IF_ERROR(CheckIsFile(path));
  // RTLD_NOW: unresolved symbols fail here, not during a call. RTLD_LOCAL: other libraries do not see the plugin's
  // symbols.
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const reason = dlerror();
    return FailedPrecondition(std::string("it cannot be loaded: ") + (reason != nullptr ? reason : "no reason given"));
  }
  if (void* const entry = dlsym(library, ESPALIER_PLUGIN_SYMBOL); entry != nullptr) {
    ASSIGN_OR_RETURN(const EspalierPlugin* const plugin,
                     CallEntryPoint<EspalierPlugin>(entry, ESPALIER_PLUGIN_SYMBOL, ESPALIER_PLUGIN_VERSION));
    return *plugin;
  }
  if (void* const entry = dlsym(library, kSymbolOfVersion2); entry != nullptr) {
    ASSIGN_OR_RETURN(const EspalierPlugin* const plugin,
                     CallEntryPoint<EspalierPlugin>(entry, kSymbolOfVersion2, /*version=*/2));
    return *plugin;
  }
  if (void* const entry = dlsym(library, kSymbolOfVersion1); entry != nullptr) {
    ASSIGN_OR_RETURN(const PluginOfVersion1* const plugin,
                     CallEntryPoint<PluginOfVersion1>(entry, kSymbolOfVersion1, /*version=*/1));
    return EspalierPlugin{.interface_version = 1,
                          .num_functions = plugin->num_functions,
                          .functions = plugin->functions,
                          .version = plugin->version,
                          .num_initializers = 0,
                          .initializers = nullptr};
  }
  return FailedPrecondition(
      std::string("it exports none of " ESPALIER_PLUGIN_SYMBOL ", ") + kSymbolOfVersion2 + " and " + kSymbolOfVersion1 +
      ": it is not a plugin, or was built for another version of the interface; this server has versions 1 to " +
      std::to_string(ESPALIER_PLUGIN_VERSION) + " (services/plugin/espalier_plugin.h)");
}

Status CheckCounts(const EspalierPlugin& plugin) {
  const bool has_any = plugin.num_functions > 0 || plugin.num_initializers > 0;
  if (!has_any || plugin.num_functions > kMaxEntries || plugin.num_initializers > kMaxEntries) {
    return FailedPrecondition("it has " + std::to_string(plugin.num_functions) + " functions and " +
                              std::to_string(plugin.num_initializers) + " initializers, expected 1 at least and " +
                              std::to_string(kMaxEntries) + " of each at most");
  }
  if (plugin.num_functions > 0 && plugin.functions == nullptr) return FailedPrecondition("its functions are null");
  if (plugin.num_initializers > 0 && plugin.initializers == nullptr) {
    return FailedPrecondition("its initializers are null");
  }
  return Status();
}

// Checks the name and the pointer of one function or initializer; `what` is "function" or "initializer". Adds the name
// to `names`.
Status CheckEntry(const std::string& what, const std::string& name, bool has_pointer, std::set<std::string>* names) {
  if (const Status valid = graph::CheckName(what, name); !valid.ok()) return FailedPrecondition(valid.message());
  if (!has_pointer) return FailedPrecondition("its " + what + " '" + name + "' is null");
  if (!names->insert(name).second) return FailedPrecondition("it has two " + what + "s '" + name + "'");
  return Status();
}

Result<FunctionKind> ParseKind(const EspalierFunctionEntry& entry, uint32_t version) {
  if (version < 3) return entry.kind != 0 ? FunctionKind::kIdempotent : FunctionKind::kCalledOnce;
  if (entry.kind >= ESPALIER_CALLED_ONCE && entry.kind <= ESPALIER_CHANGING) return FunctionKind(entry.kind);
  return FailedPrecondition("its function '" + std::string(entry.name) + "' is of kind " + std::to_string(entry.kind) +
                            ", expected 0, 1 or 2");
}

Result<std::vector<PluginLibrary::Function>> ReadFunctions(const std::string& plugin_name,
                                                           const EspalierPlugin& plugin) {
  std::set<std::string> names;
  std::vector<PluginLibrary::Function> functions;
  for (uint32_t i = 0; i < plugin.num_functions; ++i) {
    const EspalierFunctionEntry& entry = plugin.functions[i];
    const std::string name = entry.name != nullptr ? entry.name : "";
    RETURN_IF_ERROR(CheckEntry("function", name, entry.function != nullptr, &names));
    ASSIGN_OR_RETURN(const FunctionKind kind, ParseKind(entry, plugin.interface_version));
    functions.push_back({plugin_name + "/" + name, entry.function, kind});
  }
  return functions;
}

Result<std::vector<PluginLibrary::Initializer>> ReadInitializers(const std::string& plugin_name,
                                                                 const EspalierPlugin& plugin) {
  std::set<std::string> names;
  std::vector<PluginLibrary::Initializer> initializers;
  for (uint32_t i = 0; i < plugin.num_initializers; ++i) {
    const EspalierInitializerEntry& entry = plugin.initializers[i];
    const std::string name = entry.name != nullptr ? entry.name : "";
    RETURN_IF_ERROR(CheckEntry("initializer", name, entry.initializer != nullptr, &names));
    initializers.push_back({plugin_name + "/" + name, entry.initializer});
  }
  return initializers;
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
  ASSIGN_OR_RETURN(const EspalierPlugin plugin, LoadTable(file.path).While(what));
  RETURN_IF_ERROR(CheckCounts(plugin).While(what));
  PluginLibrary library;
  library.name_ = file.name;
  library.version_ = plugin.version != nullptr ? plugin.version : "";
  ASSIGN_OR_RETURN(library.functions_, ReadFunctions(file.name, plugin).While(what));
  ASSIGN_OR_RETURN(library.initializers_, ReadInitializers(file.name, plugin).While(what));
  return library;
}

}  // namespace espalier::server
