// One scalar of the document against its row of the field table.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "services/job/field_table.h"
#include "services/job/violations.h"
#include "services/job/yaml_tree.h"

namespace espalier::job {

// The value as JSON, a place with its scheme in canonical spelling (services/base/uri_scheme.h), or nullopt after a
// violation was added.
std::optional<nlohmann::ordered_json> CheckScalar(const FieldSpec& field, const YamlNode& node, const std::string& path,
                                                  Violations* violations);

// Text that every YAML reader takes for text; `node` is a scalar.
bool CheckText(const YamlNode& node, const std::string& path, Violations* violations);

// "a list", "the number 7": what stands there, for messages.
std::string Found(const YamlNode& node);

}  // namespace espalier::job
