// The manifest is the commit record, as for checkpoints. Each save writes its files to a subfolder of its own
// (SaveFolderName), so that files of an interrupted save never mix with those of a later one in the same folder.
// CommitSavedTensors parses the manifest that it is going to write and compares the result, because names that are not
// UTF-8 would be replaced silently.
#include "services/format/saved_tensors/saved_tensors.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "services/base/hash.h"
#include "services/base/parallel.h"
#include "services/format/files/file_entry_json.h"
#include "services/format/files/manifest_text.h"
#include "services/format/files/stored_safetensors.h"
#include "services/format/files/strict_json.h"
#include "services/format/partition/partition_names.h"
#include "services/storage/object_key.h"

namespace espalier::format {
namespace {

using nlohmann::json;
using Json = nlohmann::ordered_json;

constexpr int kMaxSavedDepth = 8;
constexpr uint64_t kFormatFieldBytes = 256;  // enough for the field "format" with white space around it
constexpr std::string_view kSaveFolderStart = "save-";
constexpr int kParallelReads = 8;  // manifests that are read in parallel

// Returns true if a key, relative to the folder of the saved tensors, is in the subfolder of a save.
bool IsInSaveFolder(std::string_view key) {
  uint64_t save = 0;
  const size_t slash = key.find('/');
  return slash != std::string_view::npos && key.starts_with(kSaveFolderStart) &&
         ParseHex(key.substr(kSaveFolderStart.size(), slash - kSaveFolderStart.size()), &save);
}

// Returns true if a listed object is a manifest of saved tensors. Reads only its beginning, because "format" is the
// first field. Other content is not an error.
Result<bool> IsSavedTensorsManifest(storage::ObjectStore& store, const storage::ObjectInfo& manifest) {
  if (manifest.size_bytes == 0) return false;
  const storage::ByteRange beginning{.offset = 0, .length = std::min(manifest.size_bytes, kFormatFieldBytes)};
  Result<std::string> text = store.GetRange(manifest.key, beginning);
  const StatusCode code = text.status().code();
  if (code == StatusCode::kNotFound || code == StatusCode::kOutOfRange) return false;  // removed or replaced meanwhile
  if (!text.ok()) return std::move(text).status();
  std::erase_if(*text, [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; });
  return text->starts_with(std::string("{\"format\":\"") + kSavedTensorsFormatName + '"');
}

// Returns 1 for each manifest of saved tensors and 0 for each other one. Sends one request per manifest, several in
// parallel. Stops at an error; of several errors, returns the first in the order of the manifests.
Result<std::vector<uint8_t>> AreSavedTensorsManifests(storage::ObjectStore& store,
                                                      const std::vector<storage::ObjectInfo>& manifests) {
  std::vector<Result<bool>> answers(manifests.size(), false);
  std::atomic<bool> failed{false};
  ParallelFor(kParallelReads, static_cast<int64_t>(manifests.size()), 1, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end) && !failed; ++i) {
      answers[i] = IsSavedTensorsManifest(store, manifests[i]);
      if (!answers[i].ok()) failed = true;
    }
  });
  std::vector<uint8_t> are_saved;
  for (const Result<bool>& answer : answers) {
    if (!answer.ok()) return answer.status();
    are_saved.push_back(*answer ? 1 : 0);
  }
  return are_saved;
}

Json ToJson(const SavedTensorEntry& tensor) {
  Json files = Json::array();
  for (const FileEntry& file : tensor.files) files.push_back(FileEntryToJson(file));
  Json entry = {{"rows", tensor.rows},
                {"name", tensor.name},
                {"dtype", ToString(tensor.dtype)},
                {"row_shape", tensor.row_shape},
                {"num_rows", tensor.num_rows}};
  if (tensor.endpoint_hash.has_value()) entry["ends"] = ToHex(*tensor.endpoint_hash);
  entry["files"] = files;
  return entry;
}

Json ToJson(const SavedEmbeddingEntry& embedding) {
  Json entry = {
      {"version", embedding.version}, {"optimizer", embedding.optimizer}, {"values", ToJson(embedding.values)}};
  if (embedding.state.has_value()) entry["state"] = ToJson(*embedding.state);
  return entry;
}

Status CheckSavedVersion(const JsonFields& document) {
  ASSIGN_OR_RETURN(const std::string name, document.Text("format"));
  if (name != kSavedTensorsFormatName) {
    return document.InvalidField("format", std::string("expected ") + kSavedTensorsFormatName + ", found " + name);
  }
  ASSIGN_OR_RETURN(const uint64_t version, document.Unsigned("format_version"));
  if (version == kSavedTensorsFormatVersion) return Status();
  return document.InvalidField("format_version", "this program supports version " +
                                                     std::to_string(kSavedTensorsFormatVersion) + ", found " +
                                                     std::to_string(version));
}

Result<std::vector<int64_t>> RowShapeFrom(const JsonFields& fields, DType dtype) {
  ASSIGN_OR_RETURN(const std::vector<uint64_t> lengths, fields.UnsignedList("row_shape"));
  std::vector<int64_t> shape;
  for (const uint64_t length : lengths) {
    if (length > uint64_t{std::numeric_limits<int64_t>::max()})
      return fields.InvalidField("row_shape", "a dimension is 2^63 or more");
    shape.push_back(static_cast<int64_t>(length));
  }
  const Result<int64_t> count = CheckedElementCount(shape, ItemSize(dtype));
  if (!count.ok()) return fields.InvalidField("row_shape", count.status().message());
  return shape;
}

Result<SavedTensorEntry> TensorFrom(const JsonFields& fields) {
  SavedTensorEntry tensor;
  ASSIGN_OR_RETURN(tensor.rows, fields.Text("rows"));
  ASSIGN_OR_RETURN(tensor.name, fields.Text("name"));
  ASSIGN_OR_RETURN(const std::string dtype, fields.Text("dtype"));
  const Result<DType> parsed = DTypeFromName(dtype);
  if (!parsed.ok()) return fields.InvalidField("dtype", parsed.status().message());
  tensor.dtype = *parsed;
  ASSIGN_OR_RETURN(tensor.row_shape, RowShapeFrom(fields, tensor.dtype));
  ASSIGN_OR_RETURN(tensor.num_rows, fields.Unsigned("num_rows"));
  if (fields.Has("ends")) {
    ASSIGN_OR_RETURN(const std::string hash, fields.Text("ends"));
    if (!ParseHex(hash, &tensor.endpoint_hash.emplace()))
      return fields.InvalidField("ends", "expected 16 hexadecimal digits");
  }
  RETURN_IF_ERROR(fields.ForEach("files", [&](const json& element, const std::string& path) -> Status {
    ASSIGN_OR_RETURN(const JsonFields file, JsonFields::Of(element, path));
    ASSIGN_OR_RETURN(tensor.files.emplace_back(), FileEntryFromJson(file));
    if (tensor.files.back().size_bytes <= kMaxSavedFileBytes) return Status();
    return file.InvalidField("size_bytes", "expected at most " + std::to_string(kMaxSavedFileBytes));
  }));
  return tensor;
}

Result<SavedEmbeddingEntry> EmbeddingFrom(const JsonFields& fields) {
  SavedEmbeddingEntry embedding;
  ASSIGN_OR_RETURN(embedding.version, fields.Unsigned("version"));
  ASSIGN_OR_RETURN(embedding.optimizer, fields.Text("optimizer"));
  ASSIGN_OR_RETURN(const JsonFields values, fields.Object("values"));
  ASSIGN_OR_RETURN(embedding.values, TensorFrom(values));
  if (embedding.values.row_shape.size() != 1) return values.InvalidField("row_shape", "expected one dimension");
  if (!fields.Has("state")) return embedding;
  ASSIGN_OR_RETURN(const JsonFields state, fields.Object("state"));
  ASSIGN_OR_RETURN(embedding.state, TensorFrom(state));
  if (embedding.state->dtype != DType::kF32) return state.InvalidField("dtype", "expected F32");
  if (embedding.state->row_shape.size() != 1) return state.InvalidField("row_shape", "expected one dimension");
  const bool matches_values = embedding.state->rows == embedding.values.rows &&
                              embedding.state->num_rows == embedding.values.num_rows &&
                              embedding.state->files.size() == embedding.values.files.size();
  if (!matches_values)
    return fields.InvalidField("state", "expected the rows of the values, in as many files as the values");
  return embedding;
}

}  // namespace

std::string SavedTensorsToJson(const SavedTensorsManifest& manifest) {
  Json tensors = Json::array();
  for (const SavedTensorEntry& tensor : manifest.tensors) tensors.push_back(ToJson(tensor));
  Json document = {{"format", kSavedTensorsFormatName},
                   {"format_version", kSavedTensorsFormatVersion},
                   {"graph", manifest.graph_name},
                   {"notes", manifest.notes.empty() ? Json::object() : Json(manifest.notes)},
                   {"tensors", tensors}};
  for (const SavedEmbeddingEntry& embedding : manifest.embeddings) document["embeddings"].push_back(ToJson(embedding));
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<SavedTensorsManifest> SavedTensorsFromJson(const std::string& text) {
  ASSIGN_OR_RETURN(const json parsed, ParseStrictJson(text, kMaxSavedDepth));
  ASSIGN_OR_RETURN(const JsonFields document, JsonFields::Of(parsed, ""));
  RETURN_IF_ERROR(CheckSavedVersion(document));
  SavedTensorsManifest manifest;
  ASSIGN_OR_RETURN(manifest.graph_name, document.Text("graph"));
  ASSIGN_OR_RETURN(const JsonFields notes, document.Object("notes"));
  RETURN_IF_ERROR(notes.ForEachField([&](const std::string& key, const json& note, const std::string& path) -> Status {
    if (!note.is_string()) return InvalidArgument(path + ": expected a string");
    manifest.notes[key] = note.get<std::string>();
    return Status();
  }));
  std::set<std::pair<std::string, std::string>> names;
  RETURN_IF_ERROR(document.ForEach("tensors", [&](const json& element, const std::string& path) -> Status {
    ASSIGN_OR_RETURN(const JsonFields fields, JsonFields::Of(element, path));
    ASSIGN_OR_RETURN(manifest.tensors.emplace_back(), TensorFrom(fields));
    const SavedTensorEntry& tensor = manifest.tensors.back();
    if (names.emplace(tensor.rows, tensor.name).second) return Status();
    return fields.InvalidField("name", "a second tensor '" + tensor.name + "' of " + tensor.rows);
  }));
  if (!document.Has("embeddings")) return manifest;
  names.clear();
  RETURN_IF_ERROR(document.ForEach("embeddings", [&](const json& element, const std::string& path) -> Status {
    ASSIGN_OR_RETURN(const JsonFields fields, JsonFields::Of(element, path));
    ASSIGN_OR_RETURN(manifest.embeddings.emplace_back(), EmbeddingFrom(fields));
    const SavedTensorEntry& values = manifest.embeddings.back().values;
    if (names.emplace(values.rows, values.name).second) return Status();
    return fields.InvalidField("values", "a second embedding '" + values.name + "' of " + values.rows);
  }));
  return manifest;
}

std::string SaveFolderName(uint64_t save) { return std::string(kSaveFolderStart) + ToHex(save); }

Result<FileEntry> PutSavedRows(storage::ObjectStore& store, const std::string& folder, const std::string& key,
                               const Tensor& rows) {
  return PutSafetensors(store, folder, key, {.tensors = {{kSavedRows, rows}}, .metadata = {}}).While("writing " + key);
}

Result<Tensor> ReadSavedRows(storage::ObjectStore& store, const std::string& folder, const FileEntry& file,
                             const SavedTensorEntry& tensor) {
  const std::string key = storage::JoinKey(folder, file.key);
  Result<std::shared_ptr<const std::string>> bytes = ReadStoredBytes(store, key, file.size_bytes);
  if (bytes.status().code() == StatusCode::kNotFound) return DataLoss(bytes.status().message() + ": it is missing");
  if (!bytes.ok()) return std::move(bytes).status();
  ASSIGN_OR_RETURN(const Safetensors content, ParseStoredSafetensors(file, *std::move(bytes), key));
  const auto rows = content.tensors.find(kSavedRows);
  if (rows == content.tensors.end()) return DataLoss(key + ": it has no tensor '" + kSavedRows + "'");
  const std::vector<int64_t>& shape = rows->second.shape();
  const bool fits = rows->second.dtype() == tensor.dtype && !shape.empty() &&
                    std::vector<int64_t>(shape.begin() + 1, shape.end()) == tensor.row_shape;
  if (fits) return rows->second;
  return DataLoss(key + ": its rows are " + rows->second.ToString() + ": expected the dtype and row shape of '" +
                  tensor.name + "'");
}

Status CheckNothingIsSaved(storage::ObjectStore& store, const std::string& folder) {
  const Result<storage::ObjectInfo> manifest = store.Head(storage::JoinKey(folder, kManifestKey));
  if (manifest.ok()) return AlreadyExists(store.Describe() + " holds a " + kManifestKey + " already");
  return manifest.status().code() == StatusCode::kNotFound ? Status() : manifest.status();
}

Status CommitSavedTensors(storage::ObjectStore& store, const std::string& folder, const SavedTensorsManifest& manifest,
                          uint64_t max_bytes) {
  const std::string text = SavedTensorsToJson(manifest);
  if (const Status size = CheckManifestSize(text, max_bytes); !size.ok()) {
    return InvalidArgument(size.message() + "; save fewer or shorter notes, or fewer and larger files");
  }
  const Result<SavedTensorsManifest> back = SavedTensorsFromJson(text);
  if (!back.ok()) return back.status();
  if (*back != manifest) return InvalidArgument("names or notes are not UTF-8");
  return store.PutIfAbsent(storage::JoinKey(folder, kManifestKey), std::as_bytes(std::span<const char>(text)));
}

Result<SavedTensorsManifest> ReadSavedTensors(storage::ObjectStore& store, const std::string& folder) {
  const std::string key = storage::JoinKey(folder, kManifestKey);
  ASSIGN_OR_RETURN(const std::string text, ReadManifestText(store, key));
  return SavedTensorsFromJson(text).While("reading " + store.Describe() + "/" + key);
}

Result<std::vector<std::string>> ListSavedTensors(storage::ObjectStore& store, const std::string& prefix) {
  const std::string start = storage::FolderPrefix(prefix);
  ASSIGN_OR_RETURN(const std::vector<storage::ObjectInfo> objects, store.List(start));
  std::vector<storage::ObjectInfo> manifests;
  std::vector<std::string> folders;  // of `manifests`
  for (const storage::ObjectInfo& object : objects) {
    const std::string_view below = std::string_view(object.key).substr(start.size());
    const size_t slash = below.find('/');
    if (slash == std::string_view::npos || below.substr(slash + 1) != kManifestKey) continue;
    manifests.push_back(object);
    folders.emplace_back(below.substr(0, slash));
  }
  ASSIGN_OR_RETURN(const std::vector<uint8_t> are_saved, AreSavedTensorsManifests(store, manifests));
  std::vector<std::string> saved;
  for (size_t i = 0; i < folders.size(); ++i) {
    if (are_saved[i] != 0) saved.push_back(std::move(folders[i]));
  }
  std::sort(saved.begin(), saved.end());
  return saved;
}

Status RemoveSavedTensors(storage::ObjectStore& store, const std::string& folder) {
  const Status read = ReadSavedTensors(store, folder).status();
  if (read.code() == StatusCode::kInvalidArgument) {
    return FailedPrecondition("nothing is removed: " + read.message());
  }
  if (!read.ok() && read.code() != StatusCode::kNotFound) return read;
  RETURN_IF_ERROR(store.Delete(storage::JoinKey(folder, kManifestKey)));
  const std::string start = storage::FolderPrefix(folder);
  ASSIGN_OR_RETURN(const std::vector<storage::ObjectInfo> left, store.List(start + std::string(kSaveFolderStart)));
  std::vector<std::string> keys;
  for (const storage::ObjectInfo& object : left) {
    if (IsInSaveFolder(std::string_view(object.key).substr(start.size()))) keys.push_back(object.key);
  }
  return store.DeleteMany(keys);
}

}  // namespace espalier::format
