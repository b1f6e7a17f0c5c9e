// The text of `inspect` has, in this order, the URI and incarnation, the counts and metrics of the result, the files,
// the outputs that were not written, and the remaining fields of the result that are numbers or strings.
#include "services/cli/outputs_report.h"

#include <nlohmann/json.hpp>
#include <set>

#include "services/storage/object_key.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::ordered_json;

// Returns the file's dtype and shape, "F32 [2708, 64]", or its kind if it is not an array.
std::string ContentText(const format::OutputFile& file) {
  if (!file.dtype.has_value()) return file.kind;
  std::string text = std::string(ToString(*file.dtype)) + " [";
  for (size_t i = 0; i < file.shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(file.shape[i]);
  return text + "]";
}

// Keys of the result whose values are already part of the text.
using Keys = std::set<std::string>;

// Returns the line "cora: 2708 nodes, 10556 edges, 2 partitions, 2 trainers", with the counts that the result contains.
// Adds to *shown the keys that it used.
std::string GraphText(const Json& result, Keys* shown) {
  std::string counts;
  for (const std::string what : {"node", "edge", "partition", "trainer"}) {
    const auto count = result.find(what + "s");
    if (count == result.end() || !count->is_number()) continue;
    counts += (counts.empty() ? "" : ", ") + count->dump() + " " + what + (*count == 1 ? "" : "s");
    shown->insert(what + "s");
  }
  if (counts.empty()) return "";
  const auto graph = result.find("graph");
  if (graph == result.end() || !graph->is_string()) return "  " + counts + "\n";
  shown->insert("graph");
  return "  " + graph->get<std::string>() + ": " + counts + "\n";
}

// Returns the line with the metrics, "testAccuracy 0.8125, validationAccuracy 0.79". Adds their keys to *shown.
std::string MetricsText(const Json& result, Keys* shown) {
  std::string metrics;
  for (const auto& [key, value] : result.items()) {
    const bool is_metric = key.starts_with("test") || key.starts_with("validation");
    if (!is_metric || !value.is_number()) continue;
    metrics += (metrics.empty() ? "" : ", ") + key + " " + value.dump();
    shown->insert(key);
  }
  return metrics.empty() ? "" : "  " + metrics + "\n";
}

std::string AsText(const OutputsPlace& place) {
  const format::OutputsManifest& manifest = place.manifest;
  const Json result = Json::parse(manifest.result_json);
  Keys shown;
  std::string text = place.uri + ": outputs of incarnation " + std::to_string(manifest.incarnation) + "\n" +
                     GraphText(result, &shown) + MetricsText(result, &shown);
  for (const format::OutputFile& file : manifest.files) {
    text += "  " + file.file.key + "  " + terminal::BytesText(file.file.size_bytes) + "  " + ContentText(file) + "\n";
  }
  for (const auto& [what, reason] : manifest.not_written) text += "  no " + what + ": " + reason + "\n";
  for (const auto& [key, value] : result.items()) {
    if (shown.contains(key)) continue;
    if (value.is_number() || value.is_string()) text += "  " + key + ": " + value.dump() + "\n";
  }
  return text;
}

std::string AsJson(const OutputsPlace& place) {
  Json document = Json::parse(format::OutputsManifestToJson(place.manifest));
  document["uri"] = place.uri;
  return document.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string VerdictAsJson(const OutputsPlace& place, const format::OutputsReport& report) {
  const Json json = {{"uri", place.uri},
                     {"ok", report.ok()},
                     {"incarnation", place.manifest.incarnation},
                     {"files", report.files},
                     {"bytes", report.bytes},
                     {"numViolations", report.violations.size()},
                     {"violations", report.violations}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

Result<std::optional<OutputsPlace>> FindOutputs(const std::string& uri, const storage::StoreOpener& open_store) {
  ASSIGN_OR_RETURN(const storage::StoreLocation location, open_store(uri));
  const Result<std::string> text = location.store->Get(storage::JoinKey(location.prefix, "manifest.json"));
  if (!text.ok() && text.status().code() == StatusCode::kNotFound) return std::optional<OutputsPlace>();
  if (!text.ok()) return text.status();
  if (!format::IsOutputsManifest(*text)) return std::optional<OutputsPlace>();
  ASSIGN_OR_RETURN(format::OutputsManifest manifest, format::OutputsManifestFromJson(*text).While(uri));
  return std::optional(OutputsPlace{location, uri, std::move(manifest)});
}

Outcome InspectOutputs(const OutputsPlace& place, bool json) { return Done(json ? AsJson(place) : AsText(place)); }

Outcome VerifyOutputs(const OutputsPlace& place, const OutputFlags& out) {
  const Result<format::OutputsReport> report =
      format::VerifyOutputs(*place.location.store, place.location.prefix, place.manifest);
  if (!report.ok()) return Fail(report.status());
  Outcome outcome;
  if (out.json) {
    outcome.output = VerdictAsJson(place, *report);
  } else if (!out.quiet) {
    outcome.output =
        place.uri + ": " + (report->ok() ? "all files match the manifest" : "files do NOT match the manifest") +
        "\n  checked " + std::to_string(report->files) + " files, " + terminal::BytesText(report->bytes) + "\n";
  }
  if (report->ok()) return outcome;
  outcome.code = ExitCode::kBadInput;
  const size_t num_violations = report->violations.size();
  outcome.error = std::to_string(num_violations) + (num_violations == 1 ? " violation" : " violations");
  for (const std::string& violation : report->violations) outcome.error += "\n  " + violation;
  return outcome;
}

}  // namespace espalier::cli
