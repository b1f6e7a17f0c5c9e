// The plugins of a graph server's command line.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "services/server/plugin_functions.h"

namespace espalier::server {

// Loads the shared libraries that `plugins` names ("NAME=PATH" each) and logs their functions and initializers. Called
// before a partition is loaded, which may take long, so that a library that cannot be loaded is reported at once.
Result<std::shared_ptr<const PluginFunctions>> LoadPlugins(const std::vector<std::string>& plugins);

}  // namespace espalier::server
