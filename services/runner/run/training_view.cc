#include "services/runner/run/training_view.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "services/base/format_number.h"
#include "services/terminal/progress.h"

namespace espalier::run {
namespace {

// The phases as a trainer names them, and as the console shows them.
constexpr std::pair<const char*, const char*> kPhases[] = {
    {"Training", "training"}, {"Evaluating", "evaluating"}, {"Embedding", "embedding"}, {"Writing", "writing"}};

// "loss 0.51  validationAccuracy 0.78"
std::string MetricsText(const nlohmann::ordered_json& metrics) {
  std::string text;
  for (const auto& [name, value] : metrics.items()) {
    if (value.is_number()) text += "  " + name + " " + FormatSignificant(value.get<double>(), 4);
  }
  return text;
}

}  // namespace

std::optional<TrainingStatus> ParseTrainingStatus(const std::string& json) {
  const auto document = nlohmann::ordered_json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object() || !document.contains("epoch") || !document["epoch"].is_number_integer())
    return std::nullopt;
  const auto number = [&](const char* key) -> std::optional<double> {
    const auto found = document.find(key);
    if (found == document.end() || !found->is_number()) return std::nullopt;
    return found->get<double>();
  };
  TrainingStatus status;
  status.epoch = document["epoch"].get<int64_t>();
  if (const auto phase = document.find("phase"); phase != document.end() && phase->is_string()) {
    for (const auto& [name, word] : kPhases) {
      if (*phase == name) status.phase = word;
    }
  }
  const bool is_training = status.phase == "training";
  const auto percent = number(is_training ? "percent" : "phasePercent");
  if (percent.has_value()) status.fraction = *percent / 100;
  if (is_training && status.fraction < 1) status.remaining_seconds = number("etaSeconds");
  status.text = "epoch " + std::to_string(status.epoch);
  if (const auto epochs = number("epochs"); epochs.has_value())
    status.text += " of " + std::to_string(std::llround(*epochs));
  if (const auto metrics = document.find("metrics"); metrics != document.end() && metrics->is_object()) {
    status.text += MetricsText(*metrics);
  }
  if (const auto rate = number("seedsPerSecond"); rate.has_value()) {
    status.text += "  " + terminal::CountText(*rate) + " seeds/s";
  }
  return status;
}

}  // namespace espalier::run
