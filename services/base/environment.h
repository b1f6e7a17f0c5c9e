// The process's environment as a value: read once in main and handed on in parts.
#pragma once

#include <map>
#include <string>

namespace espalier {

using EnvironmentMap = std::map<std::string, std::string>;

// Name -> value of every variable. Only while no other thread changes the environment.
EnvironmentMap ReadEnvironment();

// The variable's value; "" where it is not set.
std::string FindValue(const EnvironmentMap& environment, const std::string& name);

}  // namespace espalier
