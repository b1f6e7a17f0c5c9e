// Which file a job's plugin is on the machine of a graph server.
#pragma once

#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/job/dist_training.h"

namespace espalier::run {

// Absolute: a relative path starts at `folder` (empty: the working directory), as that of a user's program does.
std::string PluginPath(const std::string& path, const std::string& folder);

// Before anything is started: each is a file of this machine. NotFound, PermissionDenied and InvalidArgument name the
// plugin. What is in the files, servers say.
Status CheckPluginFiles(const std::vector<job::ServerPlugin>& plugins, const std::string& folder);

}  // namespace espalier::run
