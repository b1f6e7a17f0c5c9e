// The commit of a run's outputs (docs/outputs.md): `manifest.json` below the job's prefix, written last. It names the
// incarnation that won, all of its files with sizes and checksums, and holds the result. Where there is none, the run
// has no outputs, whatever files there are.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/format/manifest.h"
#include "services/storage/object_store.h"

namespace espalier::format {

inline constexpr const char* kOutputsFormatName = "espalier.outputs";
inline constexpr int kOutputsFormatVersion = 1;

struct OutputFile {
  FileEntry file;              // its key is below the job's prefix
  std::string kind;            // "model", "embeddings", "predictions", "logits", "metrics", "events"
  std::optional<DType> dtype;  // of an array (.npy); none for other files
  std::vector<int64_t> shape;  // of an array
  friend bool operator==(const OutputFile&, const OutputFile&) = default;
};

struct OutputsManifest {
  uint64_t incarnation = 0;
  std::vector<OutputFile> files;                   // by key
  std::map<std::string, std::string> not_written;  // what was asked for and cannot be, with the reason
  std::string result_json;                         // an object: result.json's
};

// "results/000003": where the files of an incarnation lie.
std::string ResultsFolder(uint64_t incarnation);

// The incarnation of a key below the job's prefix: "results/000003/model/best.safetensors" -> 3; nullopt for keys that
// are no incarnation's.
std::optional<uint64_t> IncarnationOfResult(std::string_view key);

std::string OutputsManifestToJson(const OutputsManifest& manifest);
// InvalidArgument names the field that is wrong; another format or version is refused by name. Untrusted input.
Result<OutputsManifest> OutputsManifestFromJson(const std::string& text);

// True where `text` says of itself that it is a manifest of outputs, whole or not.
bool IsOutputsManifest(const std::string& text);

// NotFound where nothing has been committed below `prefix`.
Result<OutputsManifest> ReadOutputsManifest(storage::ObjectStore& store, const std::string& prefix);

// Returns what `incarnation`, or one before it, has committed below `prefix`; nullopt: nothing. FailedPrecondition
// where a newer one has.
Result<std::optional<OutputsManifest>> ReadReplaceableOutputs(storage::ObjectStore& store, const std::string& prefix,
                                                              uint64_t incarnation);

// Puts the manifest over that of an older incarnation or of the same one; FailedPrecondition where a newer one has
// committed, Aborted where a newer one's stands after the put. The check and the put are two steps: that two
// incarnations commit at the same moment is kept from happening by fencing (servers refuse the older one long before),
// not by this.
Status CommitOutputs(storage::ObjectStore& store, const std::string& prefix, const OutputsManifest& manifest);

// After CommitOutputs, so that no incarnation that comes too late replaces it: writes `result.json`, a copy of the
// manifest's result for people.
Status WriteResultJson(storage::ObjectStore& store, const std::string& prefix, const OutputsManifest& manifest);

// Deletes the files of incarnations before `incarnation`, which cost room and nothing else.
Status RemoveOlderResults(storage::ObjectStore& store, const std::string& prefix, uint64_t incarnation);

struct OutputsReport {
  uint64_t files = 0, bytes = 0;
  std::vector<std::string> violations;
  bool ok() const { return violations.empty(); }
};

// Reads every file that the manifest names, block by block: those that are missing, have another size or another
// checksum are violations. An error is one of the store's.
Result<OutputsReport> VerifyOutputs(storage::ObjectStore& store, const std::string& prefix,
                                    const OutputsManifest& manifest);

}  // namespace espalier::format
