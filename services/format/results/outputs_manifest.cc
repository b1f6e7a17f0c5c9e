// Each incarnation writes its files into its own folder, results/<incarnation>, so that incarnations never overwrite
// files of each other. Only the manifest and result.json, which is written after it, are shared. ObjectStore has no
// conditional replacement, therefore CommitOutputs checks that the stored manifest is not of a newer incarnation,
// replaces it, and reads it again to detect a concurrent commit.
#include "services/format/results/outputs_manifest.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "services/base/tensor.h"
#include "services/format/files/file_entry_json.h"
#include "services/format/files/manifest_text.h"
#include "services/format/files/stored_file.h"
#include "services/format/files/strict_json.h"
#include "services/storage/object_key.h"

namespace espalier::format {
namespace {

using nlohmann::json;
using Json = nlohmann::ordered_json;

std::string ManifestKey(const std::string& prefix) { return storage::JoinKey(prefix, "manifest.json"); }

Json ToJson(const OutputFile& file) {
  Json entry = FileEntryToJson(file.file);
  entry["kind"] = file.kind;
  if (file.dtype.has_value()) {
    entry["dtype"] = ToString(*file.dtype);
    entry["shape"] = file.shape;
  }
  return entry;
}

Result<OutputFile> OutputFileFrom(const JsonFields& fields) {
  OutputFile output;
  ASSIGN_OR_RETURN(output.file, FileEntryFromJson(fields));
  ASSIGN_OR_RETURN(output.kind, fields.Text("kind"));
  if (!fields.Has("dtype")) return output;
  ASSIGN_OR_RETURN(const std::string dtype, fields.Text("dtype"));
  const Result<DType> parsed = DTypeFromName(dtype);
  if (!parsed.ok()) return fields.InvalidField("dtype", parsed.status().message());
  output.dtype = *parsed;
  ASSIGN_OR_RETURN(const std::vector<uint64_t> shape, fields.UnsignedList("shape"));
  for (const uint64_t dimension : shape) {
    if (dimension >> 62 != 0) return fields.InvalidField("shape", "a dimension is 2^62 or more");
    output.shape.push_back(static_cast<int64_t>(dimension));
  }
  const Result<int64_t> count = CheckedElementCount(output.shape, ItemSize(*output.dtype));
  return count.ok() ? Result<OutputFile>(std::move(output)) : fields.InvalidField("shape", count.status().message());
}

Status CheckVersion(const JsonFields& document) {
  ASSIGN_OR_RETURN(const std::string name, document.Text("format"));
  if (name != kOutputsFormatName)
    return document.InvalidField("format", std::string("expected ") + kOutputsFormatName + ", found " + name);
  ASSIGN_OR_RETURN(const uint64_t version, document.Unsigned("format_version"));
  if (version == kOutputsFormatVersion) return Status();
  return document.InvalidField(
      "format_version",
      "this program supports version " + std::to_string(kOutputsFormatVersion) + ", found " + std::to_string(version));
}

Status PutText(storage::ObjectStore& store, const std::string& key, const std::string& text) {
  ASSIGN_OR_RETURN(const std::unique_ptr<storage::ObjectWriter> writer, store.Put(key));
  RETURN_IF_ERROR(writer->Write(std::as_bytes(std::span(text))));
  return writer->Commit();
}

// Verifies a file. Returns a description of the problem, "" if there is none, or an error of the store.
Result<std::string> FindProblem(storage::ObjectStore& store, const std::string& key, const FileEntry& file) {
  const Status verified = VerifyStoredFile(store, key, file);
  switch (verified.code()) {
    case StatusCode::kOk: return std::string();
    case StatusCode::kNotFound: return key + " is missing";
    case StatusCode::kDataLoss: return verified.message();
    default: return verified;
  }
}

}  // namespace

std::string ResultsFolder(uint64_t incarnation) {
  char number[32];
  std::snprintf(number, sizeof(number), "%06llu", static_cast<unsigned long long>(incarnation));
  return std::string("results/") + number;
}

std::optional<uint64_t> IncarnationOfResult(std::string_view key) {
  constexpr std::string_view kFolder = "results/";
  if (!key.starts_with(kFolder)) return std::nullopt;
  const std::string_view rest = key.substr(kFolder.size());
  uint64_t incarnation = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), incarnation);
  // Accept only the exact name of the folder: the same number with other leading zeros is another folder.
  const bool is_its_folder = error == std::errc() && key.starts_with(ResultsFolder(incarnation) + "/");
  return is_its_folder ? std::optional(incarnation) : std::nullopt;
}

std::string OutputsManifestToJson(const OutputsManifest& manifest) {
  std::vector<OutputFile> files = manifest.files;
  std::sort(files.begin(), files.end(),
            [](const OutputFile& a, const OutputFile& b) { return a.file.key < b.file.key; });
  Json entries = Json::array();
  for (const OutputFile& file : files) entries.push_back(ToJson(file));
  const Json document = {{"format", kOutputsFormatName},
                         {"format_version", kOutputsFormatVersion},
                         {"incarnation", manifest.incarnation},
                         {"files", entries},
                         {"not_written", manifest.not_written.empty() ? Json::object() : Json(manifest.not_written)},
                         {"result", Json::parse(manifest.result_json)}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<OutputsManifest> OutputsManifestFromJson(const std::string& text) {
  ASSIGN_OR_RETURN(const json parsed, ParseStrictJson(text, kMaxManifestDepth));
  ASSIGN_OR_RETURN(const JsonFields document, JsonFields::Of(parsed, ""));
  RETURN_IF_ERROR(CheckVersion(document));
  OutputsManifest manifest;
  ASSIGN_OR_RETURN(manifest.incarnation, document.Unsigned("incarnation"));
  RETURN_IF_ERROR(document.ForEach("files", [&](const json& element, const std::string& path) -> Status {
    ASSIGN_OR_RETURN(const JsonFields fields, JsonFields::Of(element, path));
    ASSIGN_OR_RETURN(OutputFile file, OutputFileFrom(fields));
    if (!manifest.files.empty() && file.file.key <= manifest.files.back().file.key) {
      return fields.InvalidField("key", "expected files in ascending order of distinct keys");
    }
    manifest.files.push_back(std::move(file));
    return Status();
  }));
  ASSIGN_OR_RETURN(const JsonFields not_written, document.Object("not_written"));
  RETURN_IF_ERROR(
      not_written.ForEachField([&](const std::string& what, const json& reason, const std::string& path) -> Status {
        if (!reason.is_string()) return InvalidArgument(path + ": expected a string");
        manifest.not_written[what] = reason.get<std::string>();
        return Status();
      }));
  RETURN_IF_ERROR(document.Object("result").status());
  // Parse again with ordered fields, to preserve the order in which they were written.
  const Json ordered = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  manifest.result_json = ordered.at("result").dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  return manifest;
}

bool IsOutputsManifest(const std::string& text) {
  const Result<json> document = ParseStrictJson(text, kMaxManifestDepth);
  return document.ok() && document->is_object() && document->value("format", json()) == kOutputsFormatName;
}

Result<OutputsManifest> ReadOutputsManifest(storage::ObjectStore& store, const std::string& prefix) {
  const std::string key = ManifestKey(prefix);
  ASSIGN_OR_RETURN(const std::string text, ReadManifestText(store, key));
  return OutputsManifestFromJson(text).While("reading " + store.Describe() + "/" + key);
}

Result<std::optional<OutputsManifest>> ReadReplaceableOutputs(storage::ObjectStore& store, const std::string& prefix,
                                                              uint64_t incarnation) {
  Result<OutputsManifest> committed = ReadOutputsManifest(store, prefix);
  if (!committed.ok() && committed.status().code() == StatusCode::kNotFound) return std::optional<OutputsManifest>();
  if (!committed.ok()) return committed.status();
  if (committed->incarnation <= incarnation) return std::optional(*std::move(committed));
  return FailedPrecondition("incarnation " + std::to_string(committed->incarnation) +
                            " has committed its outputs to this location already; this is incarnation " +
                            std::to_string(incarnation) + ": choose another location for the outputs");
}

Status CommitOutputs(storage::ObjectStore& store, const std::string& prefix, const OutputsManifest& manifest) {
  const Result<OutputsManifest> committed = ReadOutputsManifest(store, prefix);
  if (committed.ok() && committed->incarnation > manifest.incarnation) {
    return FailedPrecondition("incarnation " + std::to_string(committed->incarnation) +
                              " has committed its outputs already; incarnation " +
                              std::to_string(manifest.incarnation) + " is older and cannot replace them");
  }
  if (!committed.ok() && committed.status().code() != StatusCode::kNotFound) return committed.status();
  RETURN_IF_ERROR(PutText(store, ManifestKey(prefix), OutputsManifestToJson(manifest)));
  // A newer incarnation may have committed between the check and the put. The manifest that is stored now decides which
  // incarnation may remove older results.
  ASSIGN_OR_RETURN(const OutputsManifest stored, ReadOutputsManifest(store, prefix));
  if (stored.incarnation == manifest.incarnation) return Status();
  return Aborted("incarnation " + std::to_string(stored.incarnation) + " has committed its outputs meanwhile");
}

Status WriteResultJson(storage::ObjectStore& store, const std::string& prefix, const OutputsManifest& manifest) {
  return PutText(store, storage::JoinKey(prefix, "result.json"), manifest.result_json);
}

Status RemoveOlderResults(storage::ObjectStore& store, const std::string& prefix, uint64_t incarnation) {
  ASSIGN_OR_RETURN(const std::vector<storage::ObjectInfo> objects,
                   store.List(storage::JoinKey(prefix, "results") + "/"));
  std::vector<std::string> old;
  for (const storage::ObjectInfo& object : objects) {
    const size_t prefix_length = prefix.empty() ? 0 : prefix.size() + 1;
    const auto its_incarnation = IncarnationOfResult(std::string_view(object.key).substr(prefix_length));
    if (its_incarnation.has_value() && *its_incarnation < incarnation) old.push_back(object.key);
  }
  return old.empty() ? Status() : store.DeleteMany(old);
}

Result<OutputsReport> VerifyOutputs(storage::ObjectStore& store, const std::string& prefix,
                                    const OutputsManifest& manifest) {
  OutputsReport report;
  for (const OutputFile& output : manifest.files) {
    ASSIGN_OR_RETURN(const std::string problem,
                     FindProblem(store, storage::JoinKey(prefix, output.file.key), output.file));
    if (!problem.empty()) report.violations.push_back(problem);
    ++report.files;
    report.bytes += output.file.size_bytes;
  }
  return report;
}

}  // namespace espalier::format
