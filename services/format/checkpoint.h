// One checkpoint in a store: its folder's name, writing, reading, verifying. (Several: checkpoint_catalog.h.)
//
// A crash at any moment leaves a checkpoint that loads, or a folder without a manifest: files are put first, each
// whole or not at all, and manifest.json, which names them with their checksums, commits. What is committed is never
// written to again.
//
// Failpoints: checkpoint.before_upload, checkpoint.after_file (after each), checkpoint.before_manifest,
// checkpoint.after_manifest.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/format/checkpoint_manifest.h"
#include "services/format/safetensors.h"
#include "services/storage/object_store.h"

namespace espalier::format {

// {7, 1200} -> "000007-000000001200": at least so many digits, so that names sort as checkpoints do.
std::string CheckpointFolderName(const CheckpointId& id);
// none for names of other things.
std::optional<CheckpointId> ParseCheckpointFolderName(std::string_view name);

// Rows of graph servers lie in pieces, numbered from 0; a checkpoint without such rows has none.
std::string LearnablePieceKey(uint64_t piece);  // "learnable/000000.safetensors": at least so many digits
bool IsLearnablePiece(const std::string& key);
bool HasLearnablePieces(const CheckpointManifest& manifest);

// By key below the checkpoint's folder.
using CheckpointFiles = std::map<std::string, Safetensors>;

// A checkpoint on its way into a store, file by file. One thread; the store outlives it.
class CheckpointWrite {
 public:
  // Of `<prefix>/<folder of id>/`. AlreadyExists, with nothing touched, where that checkpoint is committed already.
  static Result<CheckpointWrite> Begin(storage::ObjectStore& store, const std::string& prefix, const CheckpointId& id);
  // Of each key once.
  Status Put(const std::string& key, const Safetensors& content);
  // The manifest, that of Begin's id, with the entries of what was put in place of manifest.files; returns it. After an
  // error nothing is committed, unless the error is of the very last request: what is there then loads.
  Result<CheckpointManifest> Commit(CheckpointManifest manifest);
  // In place of Commit: removes what was put, as well as that goes.
  void GiveUp();

 private:
  CheckpointWrite(storage::ObjectStore& store, std::string folder) : store_(&store), folder_(std::move(folder)) {}

  storage::ObjectStore* store_;
  std::string folder_;
  std::vector<FileEntry> files_;
};

// All of it in one call.
Result<CheckpointManifest> WriteCheckpoint(storage::ObjectStore& store, const std::string& prefix,
                                           CheckpointManifest manifest, const CheckpointFiles& files);

struct LoadedCheckpoint {
  std::string folder;  // its key prefix in the store
  CheckpointManifest manifest;
  // Of manifest.files all but pieces of rows; their tensors own the bytes below.
  CheckpointFiles files;
  std::map<std::string, std::shared_ptr<const std::string>> bytes;  // the same files as they are stored
};

// The functions below take the checkpoint's own folder. Untrusted input: InvalidArgument or DataLoss says which field
// or file and block is wrong, NotFound that there is no manifest or that a file is missing.
Result<CheckpointManifest> ReadCheckpointManifest(storage::ObjectStore& store, const std::string& folder);
// Reads all files, verifies every checksum and parses them, but for pieces of rows, of which nothing is kept: needs the
// size of the rest in memory.
Result<LoadedCheckpoint> LoadCheckpoint(storage::ObjectStore& store, const std::string& folder);
// One of its files.
Result<Safetensors> ReadCheckpointFile(storage::ObjectStore& store, const std::string& folder, const FileEntry& entry);
// As LoadCheckpoint, without keeping anything: memory of one file.
Status VerifyCheckpoint(storage::ObjectStore& store, const std::string& folder);
// Sizes and checksums only, for who is in a hurry or short of memory (one block): what was written well parses.
// `may_read` is asked before each block, and Cancelled where it says no; empty: always yes.
Status VerifyCheckpointBytes(storage::ObjectStore& store, const std::string& folder,
                             const std::function<bool()>& may_read = {});

}  // namespace espalier::format
