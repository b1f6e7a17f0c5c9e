// --set path=value: changes to a document's tree before it is checked.
#pragma once

#include <string>

#include "services/job/violations.h"
#include "services/job/yaml_tree.h"

namespace espalier::job {

// Puts `value` at `path`, making objects on the way. "training.epochs" is short for "spec.training.epochs"; list
// items are "inputs[0]", and one past the last appends. A path that runs through a scalar, or past a list, is a
// violation. An empty value unsets the field.
void ApplyOverride(const std::string& path, YamlNode value, YamlNode* root, Violations* violations);

}  // namespace espalier::job
