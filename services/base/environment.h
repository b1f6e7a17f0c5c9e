// The process's environment as a value, which can be passed to the functions that need variables of it.
#pragma once

#include <map>
#include <string>

namespace espalier {

using EnvironmentMap = std::map<std::string, std::string>;

// Returns the values of all environment variables by name. No other thread may change the environment during the call.
EnvironmentMap ReadEnvironment();

// Returns the variable's value, or "" if it is not set.
std::string FindValue(const EnvironmentMap& environment, const std::string& name);

}  // namespace espalier
