// Overrides of fields (--set path=value), applied to a document's tree before it is checked.
#pragma once

#include <string>

#include "services/job/text/violations.h"
#include "services/job/text/yaml_tree.h"

namespace espalier::job {

// Sets the field at `path` to `value` and creates missing objects and lists on the way. "training.epochs" is short for
// "spec.training.epochs"; "inputs[0]" is an item of a list, and the index after the last item appends an item. A larger
// index, a path through a scalar and a malformed path are violations. A null value unsets the field.
void ApplyOverride(const std::string& path, YamlNode value, YamlNode* root, Violations* violations);

}  // namespace espalier::job
