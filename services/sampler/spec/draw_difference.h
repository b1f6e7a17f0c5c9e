// Compares two descriptions of draws and names the first difference in words.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/sampler/spec/draw_spec.h"

namespace espalier::sampler {

// An option and its values in the two descriptions.
struct DrawDifference {
  std::string option;  // name in the job document, or "time column"
  std::string first;
  std::string second;
};

namespace internal {

inline std::string OptionValue(bool option) { return option ? "on" : "off"; }
inline std::string OptionValue(const std::string& option) { return "'" + option + "'"; }
template <Spelled E>
std::string OptionValue(E option) {
  return ToString(option);
}

// Returns (name, value) of each option, always in the same order.
inline std::vector<std::pair<std::string, std::string>> OptionValues(const DrawSpec& draw) {
  std::vector<std::pair<std::string, std::string>> values;
  VisitOptions(
      draw, [&](const OptionText& text, const auto& option) { values.emplace_back(text.name, OptionValue(option)); });
  values.emplace_back("time column", OptionValue(draw.time_column));
  return values;
}

}  // namespace internal

// Returns the first option that differs, or nothing if the descriptions are equal.
inline std::optional<DrawDifference> FirstDifference(const DrawSpec& first, const DrawSpec& second) {
  const auto first_values = internal::OptionValues(first), second_values = internal::OptionValues(second);
  for (size_t i = 0; i < first_values.size(); ++i) {
    if (first_values[i] == second_values[i]) continue;
    return DrawDifference{first_values[i].first, first_values[i].second, second_values[i].second};
  }
  return std::nullopt;
}

}  // namespace espalier::sampler
