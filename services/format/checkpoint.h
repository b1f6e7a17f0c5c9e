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

#include "services/format/checkpoint_manifest.h"
#include "services/format/safetensors.h"
#include "services/storage/object_store.h"

namespace espalier::format {

// {7, 1200} -> "000007-000000001200": at least so many digits, so that names sort as checkpoints do.
std::string CheckpointFolderName(const CheckpointId& id);
// none for names of other things.
std::optional<CheckpointId> ParseCheckpointFolderName(std::string_view name);

// By key below the checkpoint's folder.
using CheckpointFiles = std::map<std::string, Safetensors>;

// Writes `<prefix>/<folder of manifest.id>/`: files, then the manifest with their entries in place of manifest.files,
// which is returned. AlreadyExists, with nothing touched, where that checkpoint is committed already. After another
// error it is not committed, unless the error is of the very last request: what is there then loads.
Result<CheckpointManifest> WriteCheckpoint(storage::ObjectStore& store, const std::string& prefix,
                                           CheckpointManifest manifest, const CheckpointFiles& files);

struct LoadedCheckpoint {
  std::string folder;  // its key prefix in the store
  CheckpointManifest manifest;
  CheckpointFiles files;  // of manifest.files; their tensors own the bytes below
  std::map<std::string, std::shared_ptr<const std::string>> bytes;  // the same files as they are stored
};

// The functions below take the checkpoint's own folder. Untrusted input: InvalidArgument or DataLoss says which field
// or file and block is wrong, NotFound that there is no manifest or that a file is missing.
Result<CheckpointManifest> ReadCheckpointManifest(storage::ObjectStore& store, const std::string& folder);
// Reads all files, verifies every checksum and parses them. Needs the checkpoint's size of memory.
Result<LoadedCheckpoint> LoadCheckpoint(storage::ObjectStore& store, const std::string& folder);
// The same without keeping anything: memory of one file. Files of mutable tensors too.
Status VerifyCheckpoint(storage::ObjectStore& store, const std::string& folder);
// Sizes and checksums only, for who is in a hurry or short of memory (one block): what was written well parses.
// `may_read` is asked before each block, and Cancelled where it says no; empty: always yes.
Status VerifyCheckpointBytes(storage::ObjectStore& store, const std::string& folder,
                             const std::function<bool()>& may_read = {});

}  // namespace espalier::format
