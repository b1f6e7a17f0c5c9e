#include "services/server/plugin_functions.h"

#include <set>
#include <utility>

namespace espalier::server {
namespace {

constexpr size_t kMaxNamesShown = 20;
constexpr size_t kMaxNameBytesShown = 260;  // of the requested name: two names and a slash

// Returns Unimplemented with the existing names. `what` is "function" or "initializer".
template <class Entry>
Status NameNotFound(const std::string& what, const std::string& name, const std::map<std::string, Entry>& existing,
                    bool has_plugins) {
  const std::string message = "no " + what + " '" + name.substr(0, kMaxNameBytesShown) + "'; ";
  if (!has_plugins) return Unimplemented(message + "this server has no plugins (spec.servers.plugins)");
  if (existing.empty()) return Unimplemented(message + "this server's plugins have none");
  std::string names;
  size_t shown = 0;
  for (const auto& [other, entry] : existing) {
    if (++shown > kMaxNamesShown) break;
    names += (names.empty() ? "'" : ", '") + other + "'";
  }
  return Unimplemented(message + "there are " + names + (shown > kMaxNamesShown ? " and more" : ""));
}

}  // namespace

Result<std::shared_ptr<const PluginFunctions>> PluginFunctions::Load(const std::vector<PluginFile>& files) {
  std::set<std::string> names;
  for (const PluginFile& file : files) {
    if (!names.insert(file.name).second) return InvalidArgument("two plugins are called '" + file.name + "'");
  }
  auto functions = std::make_shared<PluginFunctions>();
  for (const PluginFile& file : files) {
    ASSIGN_OR_RETURN(const PluginLibrary library, PluginLibrary::Load(file));
    for (const PluginLibrary::Function& function : library.functions()) {
      functions->by_name_.emplace(function.name, Function{function, library.version()});
    }
    for (const PluginLibrary::Initializer& initializer : library.initializers()) {
      functions->initializers_.emplace(initializer.name, initializer);
    }
  }
  return std::shared_ptr<const PluginFunctions>(std::move(functions));
}

Result<const PluginLibrary::Function*> PluginFunctions::Find(const std::string& name) const {
  const auto found = by_name_.find(name);
  if (found != by_name_.end()) return &found->second.function;
  return NameNotFound("function", name, by_name_, !empty());
}

Result<const PluginLibrary::Initializer*> PluginFunctions::FindInitializer(const std::string& name) const {
  const auto found = initializers_.find(name);
  if (found != initializers_.end()) return &found->second;
  return NameNotFound("initializer", name, initializers_, !empty());
}

}  // namespace espalier::server
