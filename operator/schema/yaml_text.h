// Prints JSON as block YAML, for files that are read by users.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace espalier::ctl::schema {

// Returns the value as YAML that parses to the same value in YAML 1.1 and 1.2: strings that either version would read
// as another type are quoted.
std::string ToYaml(const nlohmann::ordered_json& value);

}  // namespace espalier::ctl::schema
