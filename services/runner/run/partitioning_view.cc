#include "services/runner/run/partitioning_view.h"

#include <nlohmann/json.hpp>

#include "services/terminal/progress.h"

namespace espalier::run {
namespace {

constexpr double kMinFraction = 0.02;  // up to this fraction, the remaining time is not extrapolated

}  // namespace

std::optional<PartitioningView> ParsePartitioningStatus(const std::string& json) {
  const auto document = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object() || !document.contains("phase") || !document["phase"].is_string()) return std::nullopt;
  const auto number = [&](const char* key) -> std::optional<double> {
    const auto found = document.find(key);
    if (found == document.end() || !found->is_number()) return std::nullopt;
    return found->get<double>();
  };
  PartitioningView view{.text = document["phase"].get<std::string>()};
  if (const auto percent = number("phasePercent"); percent.has_value()) view.fraction = *percent / 100;
  if (const auto seconds = number("phaseSeconds"); seconds.has_value()) {
    view.text += " " + terminal::DurationText(*seconds);
    if (view.fraction > kMinFraction) view.remaining_seconds = *seconds * (1 - view.fraction) / view.fraction;
  }
  for (const auto& [key, what] : {std::pair("readBytes", "read"), std::pair("writtenBytes", "written")}) {
    const auto bytes = number(key);
    if (bytes.value_or(0) > 0 && *bytes < 0x1p64)
      view.text += std::string("  ") + what + " " + terminal::BytesText(static_cast<uint64_t>(*bytes));
  }
  return view;
}

}  // namespace espalier::run
