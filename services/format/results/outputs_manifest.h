// The manifest of the outputs of a run (docs/outputs.md): `manifest.json` below the prefix of the job, written after
// all files that it lists. It contains the incarnation that wrote the manifest, all files of this incarnation with
// sizes and checksums, and the result. A run without this manifest has no outputs, even if files of outputs exist.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/dtype.h"
#include "services/format/files/file_entry.h"
#include "services/storage/object_store.h"

namespace espalier::format {

inline constexpr const char* kOutputsFormatName = "espalier.outputs";
inline constexpr int kOutputsFormatVersion = 1;

struct OutputFile {
  FileEntry file;              // in an OutputsManifest, the key is relative to the prefix of the job
  std::string kind;            // "model", "embeddings", "predictions", "logits", "metrics", "events"
  std::optional<DType> dtype;  // of an array (.npy); nullopt for other files
  std::vector<int64_t> shape;  // of an array
  friend bool operator==(const OutputFile&, const OutputFile&) = default;
};

struct OutputsManifest {
  uint64_t incarnation = 0;
  std::vector<OutputFile> files;                   // sorted by key
  std::map<std::string, std::string> not_written;  // requested outputs that cannot be written, with the reason
  std::string result_json;                         // a JSON object, the content of result.json
};

// Returns the folder of the files of an incarnation, relative to the prefix of the job: "results/000003".
std::string ResultsFolder(uint64_t incarnation);

// Returns the incarnation whose ResultsFolder contains `key`: "results/000003/model/best.safetensors" -> 3. The key is
// relative to the prefix of the job. Returns nullopt for keys outside these folders.
std::optional<uint64_t> IncarnationOfResult(std::string_view key);

std::string OutputsManifestToJson(const OutputsManifest& manifest);
// Parses an untrusted manifest. Returns InvalidArgument that names the invalid field, also for another format or
// version.
Result<OutputsManifest> OutputsManifestFromJson(const std::string& text);

// Returns true if `text` is a JSON object whose "format" is that of an outputs manifest. Does not check other fields.
bool IsOutputsManifest(const std::string& text);

// Reads the outputs manifest below `prefix`. Returns NotFound if no outputs have been committed there.
Result<OutputsManifest> ReadOutputsManifest(storage::ObjectStore& store, const std::string& prefix);

// Returns the manifest below `prefix` that `incarnation` may replace: one of the same or an older incarnation; nullopt
// if there is none. Returns FailedPrecondition if a newer incarnation has committed.
Result<std::optional<OutputsManifest>> ReadReplaceableOutputs(storage::ObjectStore& store, const std::string& prefix,
                                                              uint64_t incarnation);

// Writes the manifest, replacing that of an older or the same incarnation. Returns FailedPrecondition if a newer
// incarnation has committed before, and Aborted if the manifest of another incarnation is found after the put. The
// check and the put are not atomic, which matters only if two incarnations commit concurrently. That is unlikely,
// because the graph servers reject the requests of an older incarnation after the first request of a newer one.
Status CommitOutputs(storage::ObjectStore& store, const std::string& prefix, const OutputsManifest& manifest);

// Writes `result.json`, a copy of the result in the manifest that users can read directly. Call it after CommitOutputs
// has succeeded, so that an older incarnation cannot overwrite a newer result.
Status WriteResultJson(storage::ObjectStore& store, const std::string& prefix, const OutputsManifest& manifest);

// Deletes the files of all incarnations before `incarnation`. Call it after CommitOutputs has succeeded: until then,
// the stored manifest may list these files.
Status RemoveOlderResults(storage::ObjectStore& store, const std::string& prefix, uint64_t incarnation);

struct OutputsReport {
  uint64_t files = 0, bytes = 0;  // listed in the manifest
  std::vector<std::string> violations;
  bool ok() const { return violations.empty(); }
};

// Verifies every file that the manifest lists, block by block. Files that are missing, or that have another size or
// checksum, are violations in the report. Returns errors of the store.
Result<OutputsReport> VerifyOutputs(storage::ObjectStore& store, const std::string& prefix,
                                    const OutputsManifest& manifest);

}  // namespace espalier::format
