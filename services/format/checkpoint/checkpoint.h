// Names, writes, reads and verifies one checkpoint in a store. (For several checkpoints see checkpoint_catalog.h.)
//
// A writer first puts all files, each of them atomically, and then manifest.json, which lists the files with their
// checksums and commits the checkpoint. A crash at any moment therefore leaves either a checkpoint that loads or a
// folder without a manifest. A committed checkpoint is immutable.
//
// Failpoints: checkpoint.before_upload, checkpoint.after_file (after each file), checkpoint.before_manifest,
// checkpoint.after_manifest.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/format/checkpoint/checkpoint_manifest.h"
#include "services/format/files/safetensors.h"
#include "services/storage/object_store.h"

namespace espalier::format {

// Returns the name of a checkpoint's folder: {7, 1200} -> "000007-000000001200". The numbers are padded with zeros, so
// that the lexical order of the names is the order of the checkpoints.
std::string CheckpointFolderName(const CheckpointId& id);
// Inverts CheckpointFolderName; returns nullopt for any other name.
std::optional<CheckpointId> ParseCheckpointFolderName(std::string_view name);

// The learnable rows of the graph servers are stored in several files, called pieces, which are numbered from 0. A
// checkpoint of a run without learnable rows has no pieces.
std::string LearnablePieceKey(uint64_t piece);  // "learnable/000000.safetensors"; at least six digits
bool IsLearnablePiece(const std::string& key);
bool HasLearnablePieces(const CheckpointManifest& manifest);

// The contents of files, by key relative to the checkpoint's folder.
using CheckpointFiles = std::map<std::string, Safetensors>;

// Writes one checkpoint into a store, file by file. Not thread-safe; the store must outlive this object.
class CheckpointWrite {
 public:
  // Starts to write the checkpoint `id` in `<prefix>/<CheckpointFolderName(id)>/`. Returns AlreadyExists, without a
  // change to the store, if this checkpoint is already committed.
  static Result<CheckpointWrite> Begin(storage::ObjectStore& store, const std::string& prefix, const CheckpointId& id);
  // Writes one file. Call it once for each key.
  Status Put(const std::string& key, const Safetensors& content);
  // Writes the manifest, whose id must be that of Begin, and returns it. Replaces manifest.files by the entries of the
  // files that Put has written. Returns AlreadyExists if another writer has committed this checkpoint. If the manifest
  // is invalid or too large, deletes the files and returns InvalidArgument or ResourceExhausted. After any other error
  // the manifest may have been written, and if so, the checkpoint is complete.
  Result<CheckpointManifest> Commit(CheckpointManifest manifest);
  // Abandons the write (in place of Commit): deletes the files that Put has written, unless a checkpoint with this id
  // is committed. Best effort.
  void GiveUp();

 private:
  CheckpointWrite(storage::ObjectStore& store, std::string folder) : store_(&store), folder_(std::move(folder)) {}

  storage::ObjectStore* store_;
  std::string folder_;
  std::vector<FileEntry> files_;
};

// Writes a whole checkpoint: Begin, Put for each file, Commit.
Result<CheckpointManifest> WriteCheckpoint(storage::ObjectStore& store, const std::string& prefix,
                                           CheckpointManifest manifest, const CheckpointFiles& files);

struct LoadedCheckpoint {
  std::string folder;  // its key prefix in the store
  CheckpointManifest manifest;
  // All of manifest.files except the pieces of learnable rows. The tensors share ownership of `bytes`.
  CheckpointFiles files;
  std::map<std::string, std::shared_ptr<const std::string>> bytes;  // the stored bytes of the same files
};

// The functions below take the folder of one checkpoint. They treat its content as untrusted: InvalidArgument or
// DataLoss names the invalid field, or the file and the block; NotFound means that the manifest or a file is missing.
Result<CheckpointManifest> ReadCheckpointManifest(storage::ObjectStore& store, const std::string& folder);
// Reads all files and verifies their checksums. Parses and returns all files except the pieces of learnable rows, which
// together may be larger than memory.
Result<LoadedCheckpoint> LoadCheckpoint(storage::ObjectStore& store, const std::string& folder);
// Reads, verifies and parses one file of the checkpoint.
Result<Safetensors> ReadCheckpointFile(storage::ObjectStore& store, const std::string& folder, const FileEntry& entry);
// Reads, verifies and parses all files, including the pieces of learnable rows. Memory holds one file at a time.
Status VerifyCheckpoint(storage::ObjectStore& store, const std::string& folder);
// Verifies sizes and checksums without parsing the files. Memory holds one block of kChecksumBlockBytes. `may_read`,
// unless empty, is called before each block; Cancelled is returned if it returns false.
Status VerifyCheckpointBytes(storage::ObjectStore& store, const std::string& folder,
                             const std::function<bool()>& may_read = {});

}  // namespace espalier::format
