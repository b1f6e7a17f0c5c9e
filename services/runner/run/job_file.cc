#include "services/runner/run/job_file.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "services/job/places.h"
#include "services/job/text/read_document.h"

namespace espalier::run {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kMinimalDocument =
    R"({"apiVersion": "espalier.io/v1alpha1", "kind": "DistTraining", "metadata": {"name": "program"}, "spec": {}})";

bool IsObjectStorage(const std::string& uri) { return uri.starts_with("s3://"); }

// Replaces a "file:" URI or a path by an absolute path. Other URIs are unchanged.
void MakeAbsolute(Json* object, const char* key) {
  const auto field = object->find(key);
  if (field == object->end()) return;
  std::string path = field->get<std::string>();
  if (IsObjectStorage(path)) return;
  if (path.starts_with("file://")) {
    path = path.substr(7);
  } else if (path.starts_with("file:")) {
    path = path.substr(5);
  }
  *field = std::filesystem::absolute(path).lexically_normal().string();
}

}  // namespace

Result<job::ParsedJob> ReadJobFile(const std::string& path, const std::vector<std::string>& settings,
                                   job::ReadBy read_by, job::SpecTraining training) {
  ASSIGN_OR_RETURN(const auto overrides, job::ParseSettings(settings));
  if (path.empty()) {
    return job::ParseJob("", kMinimalDocument, overrides, read_by, training).While("without --file");
  }
  ASSIGN_OR_RETURN(const std::string text, job::ReadDocument(path));
  return job::ParseJob(path, text, overrides, read_by, training);
}

Result<RunJob> PlaceJob(const job::ParsedJob& parsed, const RunFolder& folder) {
  if (parsed.training.tls == job::TlsMode::kSecretRef) {
    return InvalidArgument("spec.tls.mode: SecretRef needs a cluster: choose Managed or Disabled");
  }
  Json document = Json::parse(parsed.effective_json);
  Json& spec = document.at("spec");
  Json& graph = spec.at("graph");
  MakeAbsolute(&graph.at("source"), "uri");
  // Outputs and checkpoints go to spec.output.uri if that is in a bucket, otherwise to the folder.
  std::string prefix = parsed.training.output_uri;
  while (prefix.ends_with('/')) prefix.pop_back();
  RunJob result;
  result.ignored = parsed.ignored;
  result.places = parsed.places;
  if (!IsObjectStorage(prefix)) {
    if (!prefix.empty()) result.ignored.push_back("spec.output.uri (--output replaces it)");
    prefix = folder.path();
  }
  spec["output"]["uri"] = prefix;
  Json& partitions = graph.at("partitions");
  if (!partitions.contains("uri")) partitions["uri"] = job::UriBelow(prefix, "partitions");
  MakeAbsolute(&partitions, "uri");
  MakeAbsolute(&partitions, "assignmentUri");
  if (parsed.training.has_training && spec.at("training").contains("model")) {
    MakeAbsolute(&spec.at("training").at("model"), "uri");
  }
  MakeAbsolute(&spec.at("output"), "nodesUri");
  if (spec.contains("checkpoint")) MakeAbsolute(&spec.at("checkpoint"), "resumeFrom");

  try {
    result.json = document.dump(2) + "\n";
  } catch (const Json::exception&) {
    return InvalidArgument("the output folder " + folder.path() + " or a path in the document is not UTF-8");
  }
  // Parsed as the children will parse it, so that errors are found here.
  Result<job::ParsedJob> placed =
      job::ParseJob(folder.JobFile(), result.json, {}, job::ReadBy::kRunOrRole, job::SpecTraining::kOptional);
  if (!placed.ok()) return std::move(placed).status();
  result.training = std::move(placed->training);
  return result;
}

}  // namespace espalier::run
