// The manifest is the commit record: Begin checks that there is none, Put writes the files, and Commit creates the
// manifest with PutIfAbsent, which fails if another writer was faster. The manifest is parsed before it is written, so
// that every committed checkpoint can be read. The readers in this file start with the manifest and never list the
// folder. All pieces of learnable rows together may be larger than memory, therefore LoadCheckpoint only verifies them,
// block by block.
#include "services/format/checkpoint/checkpoint.h"

#include <algorithm>

#include "services/base/failpoint.h"
#include "services/base/parse_number.h"
#include "services/format/files/manifest_text.h"
#include "services/format/files/stored_file.h"
#include "services/format/files/stored_safetensors.h"
#include "services/format/partition/partition_names.h"
#include "services/storage/object_key.h"

namespace espalier::format {
namespace {

using storage::JoinKey;
using storage::ObjectStore;

constexpr size_t kIncarnationDigits = 6;
constexpr size_t kStepDigits = 12;
constexpr size_t kPieceDigits = 6;
constexpr const char* kLearnableFolder = "learnable/";

std::string Padded(uint64_t number, size_t digits) {
  std::string text = std::to_string(number);
  return text.size() >= digits ? text : std::string(digits - text.size(), '0') + text;
}

Status CheckNotCommitted(ObjectStore& store, const std::string& folder) {
  const Result<storage::ObjectInfo> manifest = store.Head(JoinKey(folder, kManifestKey));
  if (manifest.ok()) return AlreadyExists("the checkpoint " + folder + " exists");
  return manifest.status().code() == StatusCode::kNotFound ? Status() : manifest.status();
}

// Returns an error if the text of a manifest could not be read back, for example because it is too large.
Status CheckReadable(const std::string& manifest) {
  RETURN_IF_ERROR(CheckManifestSize(manifest));
  return CheckpointManifestFromJson(manifest).status();
}

}  // namespace

std::string CheckpointFolderName(const CheckpointId& id) {
  return Padded(id.incarnation, kIncarnationDigits) + "-" + Padded(id.global_step, kStepDigits);
}

std::optional<CheckpointId> ParseCheckpointFolderName(std::string_view name) {
  const size_t dash = name.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const std::optional<uint64_t> incarnation = ParseNumber<uint64_t>(name.substr(0, dash));
  const std::optional<uint64_t> step = ParseNumber<uint64_t>(name.substr(dash + 1));
  if (!incarnation.has_value() || !step.has_value()) return std::nullopt;
  const CheckpointId id{*incarnation, *step};
  return CheckpointFolderName(id) == name ? std::optional(id) : std::nullopt;
}

std::string LearnablePieceKey(uint64_t piece) {
  return kLearnableFolder + Padded(piece, kPieceDigits) + ".safetensors";
}

bool IsLearnablePiece(const std::string& key) { return key.starts_with(kLearnableFolder); }

bool HasLearnablePieces(const CheckpointManifest& manifest) {
  return std::any_of(manifest.files.begin(), manifest.files.end(),
                     [](const FileEntry& file) { return IsLearnablePiece(file.key); });
}

Result<CheckpointWrite> CheckpointWrite::Begin(ObjectStore& store, const std::string& prefix, const CheckpointId& id) {
  const std::string folder = JoinKey(prefix, CheckpointFolderName(id));
  RETURN_IF_ERROR(Failpoint("checkpoint.before_upload"));
  RETURN_IF_ERROR(CheckNotCommitted(store, folder));
  return CheckpointWrite(store, folder);
}

Status CheckpointWrite::Put(const std::string& key, const Safetensors& content) {
  ASSIGN_OR_RETURN(FileEntry file,
                   PutSafetensors(*store_, folder_, key, content).While("writing " + JoinKey(folder_, key)));
  files_.push_back(std::move(file));
  return Failpoint("checkpoint.after_file");
}

Result<CheckpointManifest> CheckpointWrite::Commit(CheckpointManifest manifest) {
  manifest.files = files_;
  const std::string text = CheckpointManifestToJson(manifest);
  if (const Status readable = CheckReadable(text).While("the manifest of " + folder_); !readable.ok()) {
    GiveUp();
    return readable;
  }
  RETURN_IF_ERROR(Failpoint("checkpoint.before_manifest"));
  RETURN_IF_ERROR(store_->PutIfAbsent(JoinKey(folder_, kManifestKey), std::as_bytes(std::span<const char>(text))));
  RETURN_IF_ERROR(Failpoint("checkpoint.after_manifest"));
  return manifest;
}

void CheckpointWrite::GiveUp() {
  // Another process may have committed this checkpoint in the meantime.
  if (!CheckNotCommitted(*store_, folder_).ok()) return;
  std::vector<std::string> keys;
  for (const FileEntry& file : files_) keys.push_back(JoinKey(folder_, file.key));
  files_.clear();
  (void)store_->DeleteMany(keys);  // files that remain are pruned after a newer checkpoint is committed
}

Result<CheckpointManifest> WriteCheckpoint(ObjectStore& store, const std::string& prefix, CheckpointManifest manifest,
                                           const CheckpointFiles& files) {
  ASSIGN_OR_RETURN(CheckpointWrite write, CheckpointWrite::Begin(store, prefix, manifest.id));
  for (const auto& [key, content] : files) RETURN_IF_ERROR(write.Put(key, content));
  return write.Commit(std::move(manifest));
}

Result<CheckpointManifest> ReadCheckpointManifest(ObjectStore& store, const std::string& folder) {
  const std::string key = JoinKey(folder, kManifestKey);
  ASSIGN_OR_RETURN(const std::string text, ReadManifestText(store, key));
  return CheckpointManifestFromJson(text).While(key);
}

Result<LoadedCheckpoint> LoadCheckpoint(ObjectStore& store, const std::string& folder) {
  LoadedCheckpoint loaded;
  loaded.folder = folder;
  ASSIGN_OR_RETURN(loaded.manifest, ReadCheckpointManifest(store, folder));
  for (const FileEntry& entry : loaded.manifest.files) {
    const std::string key = JoinKey(folder, entry.key);
    if (IsLearnablePiece(entry.key)) {
      RETURN_IF_ERROR(VerifyStoredFile(store, key, entry));
      continue;
    }
    ASSIGN_OR_RETURN(loaded.bytes[entry.key], ReadStoredBytes(store, key, entry.size_bytes));
    ASSIGN_OR_RETURN(loaded.files[entry.key], ParseStoredSafetensors(entry, loaded.bytes[entry.key], key));
  }
  return loaded;
}

Result<Safetensors> ReadCheckpointFile(ObjectStore& store, const std::string& folder, const FileEntry& entry) {
  const std::string key = JoinKey(folder, entry.key);
  ASSIGN_OR_RETURN(std::shared_ptr<const std::string> bytes, ReadStoredBytes(store, key, entry.size_bytes));
  return ParseStoredSafetensors(entry, std::move(bytes), key);
}

Status VerifyCheckpoint(ObjectStore& store, const std::string& folder) {
  ASSIGN_OR_RETURN(const CheckpointManifest manifest, ReadCheckpointManifest(store, folder));
  for (const FileEntry& entry : manifest.files) RETURN_IF_ERROR(ReadCheckpointFile(store, folder, entry).status());
  return Status();
}

Status VerifyCheckpointBytes(ObjectStore& store, const std::string& folder, const std::function<bool()>& may_read) {
  ASSIGN_OR_RETURN(const CheckpointManifest manifest, ReadCheckpointManifest(store, folder));
  const auto should_continue = [&](uint64_t) { return !may_read || may_read(); };
  for (const FileEntry& entry : manifest.files) {
    RETURN_IF_ERROR(VerifyStoredFile(store, JoinKey(folder, entry.key), entry, should_continue));
  }
  return Status();
}

}  // namespace espalier::format
