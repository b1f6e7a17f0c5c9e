#include "services/server/main/load_plugins.h"

#include "services/telemetry/log.h"

namespace espalier::server {

Result<std::shared_ptr<const PluginFunctions>> LoadPlugins(const std::vector<std::string>& plugins) {
  std::vector<PluginFile> files;
  for (const std::string& text : plugins) {
    ASSIGN_OR_RETURN(PluginFile file, ParsePluginFile(text));
    files.push_back(std::move(file));
  }
  ASSIGN_OR_RETURN(auto functions, PluginFunctions::Load(files));
  for (const auto& [name, entry] : functions->by_name()) {
    const bool is_changing = entry.function.kind == FunctionKind::kChanging;
    telemetry::Log(telemetry::Level::kInfo, "function of a plugin",
                   {{"function", name}, {"version", entry.plugin_version}, {"changes_tensors", is_changing}});
  }
  for (const auto& [name, initializer] : functions->initializers()) {
    telemetry::Log(telemetry::Level::kInfo, "initializer of a plugin", {{"initializer", name}});
  }
  return functions;
}

}  // namespace espalier::server
