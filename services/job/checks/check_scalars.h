// Checks one scalar of the document against its row of the field table.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "services/job/fields/field_table.h"
#include "services/job/text/violations.h"
#include "services/job/text/yaml_tree.h"

namespace espalier::job {

// Returns the value of `node` as JSON. `node` is the value of `field` or, if the field is a list, an item of it. If the
// value is invalid, adds a violation with `path` and returns nullopt. A URI gets the canonical spelling of its scheme
// (services/base/uri_scheme.h).
std::optional<nlohmann::ordered_json> CheckScalar(const FieldSpec& field, const YamlNode& node, const std::string& path,
                                                  Violations* violations);

// Returns whether all YAML readers parse the scalar `node` as text. If not, as for a plain `no` or `1:30`, adds a
// violation.
bool CheckText(const YamlNode& node, const std::string& path, Violations* violations);

// Returns the description of `node` that follows "found" in messages: "nothing", "a list", "an object", "'7'" for a
// plain scalar, or "the text '7'" for a quoted one.
std::string DescribeNode(const YamlNode& node);

}  // namespace espalier::job
