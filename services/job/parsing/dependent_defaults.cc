#include "services/job/parsing/dependent_defaults.h"

#include <algorithm>
#include <utility>

namespace espalier::job {
namespace {

void FillMetric(nlohmann::ordered_json* values) {
  nlohmann::ordered_json& training = values->at("spec").at("training");
  nlohmann::ordered_json& evaluation = training.at("evaluation");
  if (evaluation.contains("metric")) return;
  const nlohmann::ordered_json& task = training.at("task");
  if (task.at("type") == "NodeRegression" || task.at("type") == "EdgeRegression") {
    evaluation["metric"] = "MeanSquaredError";
  } else if (task.at("type") == "LinkPrediction") {
    evaluation["metric"] = "MRR";
  } else {
    evaluation["metric"] = task.at("multiLabel") == true ? "MicroF1" : "Accuracy";
  }
}

// LABOR derives its random variates from the original ids of source nodes, so edges need a copy of these ids.
void FillSourceColumns(nlohmann::ordered_json* values) {
  nlohmann::ordered_json& spec = values->at("spec");
  if (spec.at("training").at("sampling").at("method") != "Labor") return;
  nlohmann::ordered_json& columns = spec.at("graph").at("partitions").at("sourceColumns");
  if (std::find(columns.begin(), columns.end(), "original_id") == columns.end()) columns.push_back("original_id");
}

// The default applies only to a document without any trigger; a document with one trigger uses only that one.
void FillCheckpointEvery(nlohmann::ordered_json* values) {
  nlohmann::ordered_json& checkpoint = values->at("spec").at("checkpoint");
  if (checkpoint.contains("every") && !checkpoint.at("every").empty()) return;
  nlohmann::ordered_json filled = {{"every", {{"seconds", 600}}}};  // `every` comes first, as in the field table
  for (const auto& [name, value] : checkpoint.items()) {
    if (name != "every") filled[name] = value;
  }
  checkpoint = std::move(filled);
}

// By default, processes on one machine use plaintext and processes on several machines use TLS.
void FillTlsMode(ReadBy read_by, nlohmann::ordered_json* values) {
  nlohmann::ordered_json& spec = values->at("spec");
  nlohmann::ordered_json tls = {{"mode", read_by == ReadBy::kRunOrRole ? "Disabled" : "Managed"}};
  if (const auto given = spec.find("tls"); given != spec.end()) tls.update(*given);
  nlohmann::ordered_json filled;
  for (const auto& [name, value] : spec.items()) {
    // In the field table, tls precedes runPolicy, which always exists because it has defaults.
    if (name == "runPolicy") filled["tls"] = tls;
    if (name != "tls") filled[name] = value;
  }
  spec = std::move(filled);
}

}  // namespace

void FillDependentDefaults(ReadBy read_by, nlohmann::ordered_json* values) {
  if (values->at("spec").contains("training")) {
    FillMetric(values);
    FillSourceColumns(values);
  }
  FillTlsMode(read_by, values);
  FillCheckpointEvery(values);
}

}  // namespace espalier::job
