// Tensors that a program has saved (docs/saved-tensors.md): files of rows, in an order that does not depend on the
// partitioning, and a manifest. The manifest is written last: a folder without a manifest holds no saved tensors. A
// committed save is immutable.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "services/base/tensor.h"
#include "services/format/files/file_entry.h"
#include "services/format/files/manifest_text.h"
#include "services/storage/object_store.h"

namespace espalier::format {

inline constexpr const char* kSavedTensorsFormatName = "espalier.tensors";
inline constexpr int kSavedTensorsFormatVersion = 1;

// The name of the only tensor of a file.
inline constexpr const char* kSavedRows = "rows";
// Limit of the size of a file, because a file is read into memory as a whole.
inline constexpr uint64_t kMaxSavedFileBytes = uint64_t{1} << 30;

struct SavedTensorEntry {
  std::string rows;  // what the rows belong to: "nodes/paper", "edges/author:writes:paper"; "own": neither
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> row_shape;
  uint64_t num_rows = 0;
  std::optional<uint64_t> endpoint_hash;  // edges: hash of the original ids of both endpoints, in the order of the rows
  std::vector<FileEntry> files;           // in the order of the rows
  friend bool operator==(const SavedTensorEntry&, const SavedTensorEntry&) = default;
};

// Learnable rows after a number of steps.
struct SavedEmbeddingEntry {
  uint64_t version = 0;   // number of steps applied to the rows
  std::string optimizer;  // the optimizer of `state`: "Adam"
  SavedTensorEntry values;
  // For each row of `values`, one F32 row: its master weights (only if `values` are rounded from master weights), then
  // its optimizer state. Has as many files as `values`. nullopt: there is neither.
  std::optional<SavedTensorEntry> state;
  friend bool operator==(const SavedEmbeddingEntry&, const SavedEmbeddingEntry&) = default;
};

struct SavedTensorsManifest {
  std::string graph_name;
  std::map<std::string, std::string> notes;     // given by the program
  std::vector<SavedTensorEntry> tensors;        // distinct pairs of `rows` and `name`
  std::vector<SavedEmbeddingEntry> embeddings;  // distinct pairs of `rows` and `name` of the values
  friend bool operator==(const SavedTensorsManifest&, const SavedTensorsManifest&) = default;
};

std::string SavedTensorsToJson(const SavedTensorsManifest& manifest);
// Parses an untrusted manifest. Returns InvalidArgument that names the invalid field, also for another format or
// version.
Result<SavedTensorsManifest> SavedTensorsFromJson(const std::string& text);

// Returns the subfolder for the files of one save: "save-" and 16 hexadecimal digits. `save` is a unique number.
std::string SaveFolderName(uint64_t save);

// In the functions below, `folder` is the key prefix of one set of saved tensors.

// Writes `rows`, [any number, row_shape...], to the file `key` of the folder, atomically.
Result<FileEntry> PutSavedRows(storage::ObjectStore& store, const std::string& folder, const std::string& key,
                               const Tensor& rows);
// Reads the rows of one file of `tensor`. Returns DataLoss if the file is missing or damaged, or if its rows have
// another dtype or row shape; their number is not checked.
Result<Tensor> ReadSavedRows(storage::ObjectStore& store, const std::string& folder, const FileEntry& file,
                             const SavedTensorEntry& tensor);

// Returns AlreadyExists if the folder has a manifest.
Status CheckNothingIsSaved(storage::ObjectStore& store, const std::string& folder);
// Commits a save: writes the manifest of files that are already in the store. Returns AlreadyExists, without a change
// to the store, if there is a manifest. Returns InvalidArgument, also without a change, if names or notes are not
// UTF-8, the text of the manifest is larger than max_bytes, or SavedTensorsFromJson refuses it. Tests pass a smaller
// max_bytes. After any other error the manifest may have been written; it is valid then.
Status CommitSavedTensors(storage::ObjectStore& store, const std::string& folder, const SavedTensorsManifest& manifest,
                          uint64_t max_bytes = kMaxManifestBytes);
// Reads the manifest. Returns NotFound if there is none.
Result<SavedTensorsManifest> ReadSavedTensors(storage::ObjectStore& store, const std::string& folder);
// Returns the names of the folders directly below `prefix` that have a manifest of saved tensors, sorted; ignores other
// manifests. Reads the beginning of each manifest, with eight requests in parallel.
Result<std::vector<std::string>> ListSavedTensors(storage::ObjectStore& store, const std::string& prefix);
// Removes the manifest, then the files of all saves, committed or not: all objects below a SaveFolderName. Keeps other
// objects of the folder. Returns FailedPrecondition, without a change to the store, if the manifest is not a valid
// manifest of saved tensors.
Status RemoveSavedTensors(storage::ObjectStore& store, const std::string& folder);

}  // namespace espalier::format
