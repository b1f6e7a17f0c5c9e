#include "services/telemetry/configuration.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_join.h"

namespace espalier::telemetry {
namespace {

std::string ToValue(const CLI::Option& option) {
  if (option.count() == 0) {
    const bool is_flag = option.get_expected_min() == 0;
    return option.get_default_str().empty() && is_flag ? "false" : option.get_default_str();
  }
  return absl::StrJoin(option.results(), ",");
}

std::string ToKey(const CLI::Option& option) {
  std::string key = option.get_lnames().front();
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

}  // namespace

std::vector<Field> ToFields(const CLI::App& app, std::vector<Field> overrides) {
  const auto is_overridden = [&](const std::string& key) {
    return std::any_of(overrides.begin(), overrides.end(), [&](const Field& field) { return field.key == key; });
  };
  std::vector<Field> fields;
  for (const CLI::Option* const option : app.get_options()) {
    const bool is_help_or_version = option == app.get_help_ptr() || option == app.get_version_ptr();
    if (is_help_or_version || option->get_lnames().empty() || is_overridden(ToKey(*option))) continue;
    fields.push_back({ToKey(*option), ToValue(*option)});
  }
  std::move(overrides.begin(), overrides.end(), std::back_inserter(fields));
  return fields;
}

std::string OneLine(const std::string& json) {
  const auto document = nlohmann::ordered_json::parse(json, nullptr, /*allow_exceptions=*/false);
  return document.is_discarded() ? json : document.dump();
}

void LogConfiguration(const CLI::App& app, std::vector<Field> overrides) {
  Log(Level::kInfo, "configuration", ToFields(app, std::move(overrides)));
}

}  // namespace espalier::telemetry
