#include "services/server/plugin_functions.h"

#include <set>
#include <utility>

namespace espalier::server {
namespace {

constexpr size_t kMostNamesShown = 20;
constexpr size_t kMostNameBytesShown = 260;  // of a request's: two names and a slash

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
  }
  return std::shared_ptr<const PluginFunctions>(std::move(functions));
}

Result<const PluginLibrary::Function*> PluginFunctions::Find(const std::string& name) const {
  const auto found = by_name_.find(name);
  if (found != by_name_.end()) return &found->second.function;
  const std::string what = "no function '" + name.substr(0, kMostNameBytesShown) + "'; ";
  if (by_name_.empty()) return Unimplemented(what + "this server has no plugins (spec.servers.plugins)");
  std::string existing;
  size_t shown = 0;
  for (const auto& [function, entry] : by_name_) {
    if (++shown > kMostNamesShown) break;
    existing += (existing.empty() ? "'" : ", '") + function + "'";
  }
  return Unimplemented(what + "there are " + existing + (shown > kMostNamesShown ? " and more" : ""));
}

}  // namespace espalier::server
