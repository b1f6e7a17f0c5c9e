// AddFacts completes the results of trainers and of programs: fields that describe the job are added only if they are
// missing, and fields that describe the run replace those in the file. The order of existing fields is kept
// (ordered_json).
#include "services/runner/run/result_file.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "services/base/file.h"
#include "services/telemetry/process.h"

namespace espalier::run {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxResultBytes = 64 << 20;

// Adds a field unless the trainer or program has written it.
void AddIfAbsent(Json* result, const char* key, Json value) {
  if (!result->contains(key)) (*result)[key] = std::move(value);
}

// Adds the warnings that are not in the list yet. If a program uses the field "warnings" for something that is not a
// list, it is left unchanged.
void AddWarnings(const std::vector<std::string>& warnings, Json* result) {
  if (warnings.empty()) return;
  Json& list = (*result)["warnings"];
  if (list.is_null()) list = Json::array();
  if (!list.is_array()) return;
  for (const std::string& warning : warnings) {
    if (std::find(list.begin(), list.end(), Json(warning)) == list.end()) list.push_back(warning);
  }
}

std::string Shown(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

// Replaces invalid UTF-8, because arguments may be any bytes and JSON must be UTF-8.
std::string AsUtf8(const std::string& word) {
  return Json::parse(Json(word).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
}

// Adds the facts to `result`, writes the file and returns its content. Facts about the run replace fields of the same
// name.
Result<std::string> AddFacts(const RunFolder& folder, const RunJob& job, const RunFacts& facts, Json result) {
  AddIfAbsent(&result, "job", job.training.name);
  AddIfAbsent(&result, "graph", job.training.graph.source.uri);
  AddIfAbsent(&result, "partitions", job.training.graph.partitions.count);
  AddIfAbsent(&result, "samplers", job.training.sampler_replicas);
  AddIfAbsent(&result, "trainers", job.training.trainer_replicas);
  result["access"] = facts.access;
  result["partitionKey"] = facts.partition_key;
  result["partitionUri"] = facts.partition_uri;
  if (facts.samples_digest.has_value()) {
    result["samplesDigest"] = *facts.samples_digest;
    result["sampledExpansions"] = facts.num_expansions;
  }
  AddWarnings(facts.warnings, &result);
  result["incarnation"] = facts.incarnation;
  result["restarts"] = {{"trainers", facts.trainer_restarts}, {"services", facts.service_restarts}};
  result["runSeconds"] = facts.total_seconds;
  std::string completed = result.dump(2) + "\n";
  RETURN_IF_ERROR(telemetry::WriteFileAtomically(folder.ResultFile(), completed));
  return completed;
}

}  // namespace

Result<std::string> CompleteResult(const RunFolder& folder, const RunJob& job, const RunFacts& facts) {
  const Result<std::string> text = ReadFile(folder.ResultFile(), kMaxResultBytes);
  if (text.status().code() == StatusCode::kNotFound) {
    return Internal("the trainers succeeded without writing " + folder.ResultFile());
  }
  if (!text.ok()) return text.status();
  Json result = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!result.is_object()) return Internal("the trainer's " + folder.ResultFile() + " is not a JSON object");
  return AddFacts(folder, job, facts, std::move(result));
}

Result<ProgramResult> WriteProgramResult(const RunFolder& folder, const RunJob& job, const RunFacts& facts,
                                         const std::vector<std::string>& program) {
  ProgramResult written;
  Json result = Json::object();
  if (const Result<std::string> text = ReadFile(folder.ResultFile(), kMaxResultBytes);
      text.status().code() != StatusCode::kNotFound) {
    // A file that cannot be read is renamed like one that is not an object.
    result = text.ok() ? Json::parse(*text, nullptr, /*allow_exceptions=*/false) : Json();
    if (!result.is_object()) {
      const std::string kept = folder.ResultFile() + "." + std::to_string(facts.incarnation);
      std::error_code error;
      std::filesystem::rename(folder.ResultFile(), kept, error);
      if (error) return FromErrno(error.value(), "renaming the program's " + folder.ResultFile());
      written.note = "the program's result.json cannot be read as a JSON object: it is kept as " + kept;
      result = Json::object();
    }
  }
  Json words = Json::array();
  for (const std::string& word : program) words.push_back(AsUtf8(word));
  result["program"] = std::move(words);
  ASSIGN_OR_RETURN(written.json, AddFacts(folder, job, facts, std::move(result)));
  return written;
}

std::vector<std::string> SummaryLines(const std::string& result_json, const RunFolder& folder,
                                      const std::string& output_uri) {
  const Json result = Json::parse(result_json, nullptr, /*allow_exceptions=*/false);
  std::vector<std::string> lines;
  if (result.is_object()) {
    for (const auto& [key, value] : result.items()) {
      const bool metric = key.starts_with("test") || key.starts_with("validation");
      if ((metric && value.is_number()) || key == "bestEpoch" || key == "samplesDigest") {
        lines.push_back(key + ": " + Shown(value));
      }
    }
  }
  lines.push_back("result: " + folder.ResultFile());
  for (const char* output : {"model", "embeddings", "predictions", "logs"}) {
    std::error_code error;
    const std::string path = folder.path() + "/" + output;
    if (std::filesystem::exists(path, error)) lines.push_back(std::string(output) + ": " + path);
  }
  if (output_uri.starts_with("s3://")) lines.push_back("outputs: " + output_uri + " (espalier inspect lists them)");
  return lines;
}

}  // namespace espalier::run
