#include "services/base/environment.h"

#include <unistd.h>

namespace espalier {

EnvironmentMap ReadEnvironment() {
  EnvironmentMap environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text(*entry);
    const size_t equals = text.find('=');
    if (equals != std::string::npos) environment[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return environment;
}

std::string FindValue(const EnvironmentMap& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

}  // namespace espalier
