// Resolves and checks the paths of a job's server plugins.
#pragma once

#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/job/dist_training.h"

namespace espalier::run {

// Returns the absolute path of a plugin. A relative path is relative to `folder`, or to the working directory
// if `folder` is empty.
std::string PluginPath(const std::string& path, const std::string& folder);

// Checks that each plugin is a readable regular file of this machine. NotFound, PermissionDenied and InvalidArgument
// name the plugin. Does not check the content of the files, which the graph servers load.
Status CheckPluginFiles(const std::vector<job::ServerPlugin>& plugins, const std::string& folder);

}  // namespace espalier::run
