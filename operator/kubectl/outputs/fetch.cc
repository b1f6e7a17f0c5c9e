// The order of the steps makes an interrupted fetch safe: first the files, each complete or absent, then result.json,
// and manifest.json last. A manifest in the folder therefore names only complete files, and identifies the run of these
// files. If the folder has a result.json but no manifest, the result.json must equal the committed one. A lock allows
// one fetch per folder at a time.
#include "operator/kubectl/outputs/fetch.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "operator/kubectl/outputs/local_file.h"
#include "operator/kubectl/outputs/selection.h"
#include "services/base/make_folder.h"
#include "services/format/results/outputs_manifest.h"
#include "services/storage/file_store.h"
#include "services/storage/files/file_lock.h"
#include "services/storage/object_key.h"
#include "services/storage/temporary_file.h"

namespace espalier::ctl::outputs {
namespace {

namespace fs = std::filesystem;
using format::OutputFile;
using format::OutputsManifest;

constexpr char kManifest[] = "manifest.json";
constexpr char kResult[] = "result.json";
// A manifest is held in memory; a parsed one takes several times its size. The manifest of 1 TiB of outputs has 7 MiB.
constexpr uint64_t kMaxManifestBytes = 64 << 20;

Result<OutputsManifest> ReadManifest(storage::ObjectStore& store, const std::string& prefix) {
  const std::string key = storage::JoinKey(prefix, kManifest);
  ASSIGN_OR_RETURN(const storage::ObjectInfo manifest, store.Head(key));
  if (manifest.size_bytes > kMaxManifestBytes) {
    return InvalidArgument(store.Describe() + "/" + key + " has " + std::to_string(manifest.size_bytes) +
                           " bytes: the manifest of a run's outputs has " + std::to_string(kMaxManifestBytes) +
                           " at most");
  }
  return format::ReadOutputsManifest(store, prefix);
}

// "results/000003/model/best.safetensors" -> "model/best.safetensors".
std::string LocalKey(const std::string& key) {
  const std::optional<uint64_t> incarnation = format::IncarnationOfResult(key);
  if (!incarnation) return key;
  const std::string folder = format::ResultsFolder(*incarnation) + "/";
  return key.starts_with(folder) ? key.substr(folder.size()) : key;
}

// Refuses names that leave the folder, two files of one name, and names that this program writes itself. The manifest
// may come from anyone with write access to the bucket.
Status CheckLocalKeys(const std::vector<OutputFile>& files) {
  std::set<std::string> seen;
  for (const OutputFile& output : files) {
    const std::string key = LocalKey(output.file.key);
    RETURN_IF_ERROR(storage::CheckKey(key).While("the outputs' manifest names " + output.file.key));
    if (key == kManifest || key == kResult) {
      return InvalidArgument("the outputs' manifest names " + output.file.key + ", a file that fetch writes itself");
    }
    if (!seen.insert(key).second) return InvalidArgument("the outputs' manifest names two files for " + key);
  }
  return {};
}

Status WriteFile(const fs::path& path, const std::string& text) {
  ASSIGN_OR_RETURN(const std::unique_ptr<storage::TemporaryFile> file, storage::TemporaryFile::CreateBeside(path));
  RETURN_IF_ERROR(file->Write(std::as_bytes(std::span(text))));
  return file->RenameToTarget();
}

bool IsSameCommit(const OutputsManifest& a, const OutputsManifest& b) {
  return a.incarnation == b.incarnation && a.result_json == b.result_json;
}

// Without a manifest, a result.json in the folder belongs to this run only if it equals the committed one. An
// interrupted fetch may have left it.
Status CheckLocalResult(const std::string& folder, const OutputsManifest& committed) {
  const fs::path path = fs::path(folder) / kResult;
  std::error_code error;
  if (fs::symlink_status(path, error).type() == fs::file_type::not_found) return {};
  storage::FileStore store(folder);
  const Result<storage::ObjectInfo> local = store.Head(kResult);
  if (local.ok() && local->size_bytes == committed.result_json.size()) {
    ASSIGN_OR_RETURN(const std::string text, store.Get(kResult));
    if (text == committed.result_json) return {};
  }
  return AlreadyExists(path.string() + " exists with other contents: remove it, or name another folder");
}

// Returns the manifest that an earlier fetch of the same outputs has left in the folder; nullopt: there is none.
Result<std::optional<OutputsManifest>> ReadLocalManifest(const std::string& folder, const OutputsManifest& committed) {
  storage::FileStore store(folder);
  Result<OutputsManifest> local = ReadManifest(store, "");
  if (!local.ok() && local.status().code() == StatusCode::kNotFound) return std::optional<OutputsManifest>();
  if (local.ok() && IsSameCommit(*local, committed)) return std::optional(*std::move(local));
  return FailedPrecondition(folder +
                            " contains a manifest.json that does not describe these outputs: name another folder");
}

// Adds the files of `more` that `files` lacks.
void AddMissing(const std::vector<OutputFile>& more, std::vector<OutputFile>* files) {
  for (const OutputFile& output : more) {
    const bool is_present = std::any_of(files->begin(), files->end(),
                                        [&](const OutputFile& other) { return other.file.key == output.file.key; });
    if (!is_present) files->push_back(output);
  }
}

class Fetch {
 public:
  Fetch(storage::ObjectStore& store, const std::string& prefix, const FetchOptions& options)
      : store_(store), prefix_(prefix), options_(options) {}

  Result<FetchReport> Run(OutputsManifest manifest) {
    ASSIGN_OR_RETURN(const std::optional<OutputsManifest> earlier, ReadLocalManifest(options_.folder, manifest));
    if (!earlier) RETURN_IF_ERROR(CheckLocalResult(options_.folder, manifest));
    ASSIGN_OR_RETURN(std::vector<OutputFile> files, SelectFiles(manifest, options_.choices));
    RETURN_IF_ERROR(CheckLocalKeys(files));
    report_.incarnation = manifest.incarnation;
    report_.not_written = manifest.not_written;
    for (const OutputFile& output : files) report_.bytes += output.file.size_bytes;
    for (OutputFile& output : files) RETURN_IF_ERROR(FetchFile(&output));
    if (earlier) AddMissing(earlier->files, &files);
    // A result.json may have appeared during the download, which may take hours.
    if (!earlier) RETURN_IF_ERROR(CheckLocalResult(options_.folder, manifest));
    manifest.files = std::move(files);
    RETURN_IF_ERROR(WriteFile(fs::path(options_.folder) / kResult, manifest.result_json));
    RETURN_IF_ERROR(WriteFile(fs::path(options_.folder) / kManifest, format::OutputsManifestToJson(manifest)));
    return report_;
  }

 private:
  // Downloads one file, and changes its key to the local one.
  Status FetchFile(OutputFile* output) {
    const std::string key = storage::JoinKey(prefix_, output->file.key);
    output->file.key = LocalKey(output->file.key);
    if (options_.stop_requested && options_.stop_requested()) return Cancelled("asked to stop");
    LocalFileOptions options;
    options.stop_requested = options_.stop_requested;
    if (options_.progress) {
      options.progress = [&](uint64_t present) {
        options_.progress(output->file.key, done_bytes_ + present, report_.bytes);
      };
    }
    ASSIGN_OR_RETURN(const uint64_t fetched,
                     MakeLocalFile(store_, key, output->file, fs::path(options_.folder) / output->file.key, options));
    report_.fetched_bytes += fetched;
    report_.files.push_back(output->file.key);
    done_bytes_ += output->file.size_bytes;
    return {};
  }

  storage::ObjectStore& store_;
  const std::string& prefix_;
  const FetchOptions& options_;
  FetchReport report_;
  uint64_t done_bytes_ = 0;
};

// Allows one fetch per folder at a time, because each writes the folder's manifest.
class FolderLock {
 public:
  static Result<FolderLock> Acquire(const std::string& folder) {
    RETURN_IF_ERROR(MakeFolder(folder));
    const std::string path = (fs::path(folder) / (std::string(storage::kTemporaryPrefix) + "fetch")).string();
    Result<storage::FileLock> lock = storage::FileLock::TryAcquire(path, storage::LockMode::kExclusive);
    if (!lock.ok()) return lock.status().While("another fetch may be running in " + folder);
    return FolderLock(path, *std::move(lock));
  }
  FolderLock(FolderLock&& other) noexcept : path_(std::exchange(other.path_, "")), lock_(std::move(other.lock_)) {}
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock() {
    // Unlinks the file before the lock is released. A process that has already opened it does not get the lock, because
    // TryAcquire checks after locking that the path still names the locked file.
    if (!path_.empty()) unlink(path_.c_str());
  }

 private:
  FolderLock(std::string path, storage::FileLock lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;
  storage::FileLock lock_;
};

}  // namespace

Result<FetchReport> FetchOutputs(storage::ObjectStore& store, const std::string& prefix, const FetchOptions& options) {
  ASSIGN_OR_RETURN(OutputsManifest manifest, ReadManifest(store, prefix));
  ASSIGN_OR_RETURN(const FolderLock lock, FolderLock::Acquire(options.folder));
  return Fetch(store, prefix, options).Run(std::move(manifest));
}

}  // namespace espalier::ctl::outputs
