// JSON printed as block YAML, for files that people read.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace espalier::ctl::schema {

// Reads back as the same value in YAML 1.1 and 1.2: text that any version takes for something else stands in quotes.
std::string ToYaml(const nlohmann::ordered_json& value);

}  // namespace espalier::ctl::schema
