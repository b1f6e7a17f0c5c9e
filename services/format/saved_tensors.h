// Tensors that a program has saved (docs/saved-tensors.md): files of rows, in an order that no partitioning changes,
// and a manifest, written last: where there is none, nothing was saved. What is committed is never written to again.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "services/base/tensor.h"
#include "services/format/manifest.h"
#include "services/storage/object_store.h"

namespace espalier::format {

inline constexpr const char* kSavedTensorsFormatName = "espalier.tensors";
inline constexpr int kSavedTensorsFormatVersion = 1;

// The name of a file's only tensor.
inline constexpr const char* kSavedRows = "rows";
// A file is read into memory as a whole.
inline constexpr uint64_t kMaxSavedFileBytes = uint64_t{1} << 30;

struct SavedTensorEntry {
  std::string rows;  // what they stand for: "nodes/paper", "edges/author:writes:paper" or "own"
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> row_shape;
  uint64_t num_rows = 0;
  std::optional<uint64_t> ends;  // of edges: a hash of their ends' original ids, in the order of the rows
  std::vector<FileEntry> files;  // one after the other
  friend bool operator==(const SavedTensorEntry&, const SavedTensorEntry&) = default;
};

// Learnable rows at a version.
struct SavedEmbeddingEntry {
  uint64_t version = 0;   // steps that are in them
  std::string optimizer;  // whose state it is: "Adam"
  SavedTensorEntry values;
  // F32 of the same rows, cut into files as the values are: the weights, where the values are rounded from them, then
  // what the optimiser keeps. None where that is nothing.
  std::optional<SavedTensorEntry> state;
  friend bool operator==(const SavedEmbeddingEntry&, const SavedEmbeddingEntry&) = default;
};

struct SavedTensorsManifest {
  std::string graph_name;
  std::map<std::string, std::string> notes;     // the program's own
  std::vector<SavedTensorEntry> tensors;        // no two of one name and the same rows
  std::vector<SavedEmbeddingEntry> embeddings;  // nor of these
  friend bool operator==(const SavedTensorsManifest&, const SavedTensorsManifest&) = default;
};

std::string SavedTensorsToJson(const SavedTensorsManifest& manifest);
// InvalidArgument names the field that is wrong; another format or version is refused by name. Untrusted input.
Result<SavedTensorsManifest> SavedTensorsFromJson(const std::string& text);

// "save-" and 16 hexadecimal digits: where one save puts its files, in the folder of what is saved.
std::string SaveFolderName(uint64_t save);

// The functions below take the folder of what was saved at once, a key prefix.

// A file of rows [k, row_shape...], whole or not at all.
Result<FileEntry> PutSavedRows(storage::ObjectStore& store, const std::string& folder, const std::string& key,
                               const Tensor& rows);
// The rows of one of the tensor's files: DataLoss where they are missing, damaged, or no such rows.
Result<Tensor> ReadSavedRows(storage::ObjectStore& store, const std::string& folder, const FileEntry& file,
                             const SavedTensorEntry& tensor);

// AlreadyExists where something is committed there.
Status CheckNothingIsSaved(storage::ObjectStore& store, const std::string& folder);
// Writes the manifest of files that have been put. AlreadyExists, with nothing touched, where another one is there;
// InvalidArgument where it does not read back, because names or notes are not UTF-8. After another error it may be
// there, and is good then.
Status CommitSavedTensors(storage::ObjectStore& store, const std::string& folder, const SavedTensorsManifest& manifest);
// NotFound where nothing is committed.
Result<SavedTensorsManifest> ReadSavedTensors(storage::ObjectStore& store, const std::string& folder);
// Folders right below `prefix` that have a manifest of saved tensors, by name; other manifests are passed over. Reads
// the beginning of each manifest, eight at once.
Result<std::vector<std::string>> ListSavedTensors(storage::ObjectStore& store, const std::string& prefix);
// The manifest first, then the files of all saves, ended or not: what is below a SaveFolderName, and nothing else that
// lies there. FailedPrecondition, with nothing touched, where the manifest is of something else.
Status RemoveSavedTensors(storage::ObjectStore& store, const std::string& folder);

}  // namespace espalier::format
