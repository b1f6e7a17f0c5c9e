// The object is downloaded block by block into a locked partial file whose full size is allocated first, so that a full
// disk is noticed at once. Each block is verified by its hash; a resumed download keeps the blocks that match. The
// complete file is synced and renamed, so the final name never denotes a partial file.
#include "operator/kubectl/outputs/local_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "services/base/make_folder.h"
#include "services/format/files/checksum.h"
#include "services/format/files/stored_file.h"
#include "services/storage/cache/block_download.h"
#include "services/storage/file_store.h"
#include "services/storage/files/allocate.h"
#include "services/storage/files/file_lock.h"
#include "services/storage/object_key.h"
#include "services/storage/temporary_file.h"

namespace espalier::ctl::outputs {
namespace {

namespace fs = std::filesystem;

// Returns whether the existing file has the expected contents. Reads the whole file, to detect a change since the fetch
// that wrote it.
Result<bool> IsSame(const fs::path& path, const format::FileEntry& file, const LocalFileOptions& options) {
  storage::FileStore folder(path.parent_path());
  const Status verified =
      format::VerifyStoredFile(folder, path.filename().string(), file, [&](uint64_t verified_bytes) {
        if (options.progress && verified_bytes > 0) options.progress(verified_bytes);
        return !options.stop_requested || !options.stop_requested();
      });
  if (verified.code() == StatusCode::kDataLoss) return false;
  RETURN_IF_ERROR(verified);
  return true;
}

// Allocates the whole file, and removes the partial file if the disk is full.
Status MakeRoom(int descriptor, const fs::path& partial, uint64_t size_bytes) {
  const int error = storage::AllocateBlocks(descriptor, size_bytes);
  if (error == 0) return {};
  const bool is_full = storage::IsOutOfSpace(error);
  if (is_full) unlink(partial.c_str());
  return FromErrno(is_full ? ENOSPC : error,
                   "making room for " + std::to_string(size_bytes) + " bytes of " + partial.string());
}

Status RenameToTarget(int descriptor, const fs::path& partial, const fs::path& path) {
  if (fsync(descriptor) != 0) return FromErrno(errno, "syncing " + partial.string());
  fchmod(descriptor, 0644);
  if (rename(partial.c_str(), path.c_str()) != 0) return FromErrno(errno, "renaming to " + path.string());
  storage::SyncFolder(path.parent_path());
  return {};
}

}  // namespace

Result<uint64_t> MakeLocalFile(storage::ObjectStore& store, const std::string& key, const format::FileEntry& file,
                               const fs::path& path, const LocalFileOptions& options) {
  struct stat attributes = {};
  if (lstat(path.c_str(), &attributes) == 0) {
    ASSIGN_OR_RETURN(const bool is_same, IsSame(path, file, options));
    if (is_same) return uint64_t{0};
    return AlreadyExists(path.string() + " exists with other contents: remove it, or name another folder");
  }
  RETURN_IF_ERROR(MakeFolder(path.parent_path()));
  const fs::path partial =
      path.parent_path() / (std::string(storage::kTemporaryPrefix) + "partial-" + path.filename().string());
  ASSIGN_OR_RETURN(const storage::FileLock lock,
                   storage::FileLock::TryAcquire(partial.string(), storage::LockMode::kExclusive));
  const int descriptor = lock.descriptor();
  if (fstat(descriptor, &attributes) != 0) return FromErrno(errno, "reading the attributes of " + partial.string());
  const bool is_too_large = static_cast<uint64_t>(attributes.st_size) > file.size_bytes;
  if (is_too_large && ftruncate(descriptor, 0) != 0) return FromErrno(errno, "emptying " + partial.string());
  RETURN_IF_ERROR(MakeRoom(descriptor, partial, file.size_bytes));

  storage::DownloadOptions download;
  download.deadline = options.deadline;
  download.stop_requested = options.stop_requested;
  if (options.progress) download.progress = [&](uint64_t present, uint64_t) { options.progress(present); };
  ASSIGN_OR_RETURN(
      const storage::DownloadReport report,
      storage::DownloadBlocks(
          store,
          {.key = key,
           .size_bytes = file.size_bytes,
           .block_bytes = format::kChecksumBlockBytes,
           .block_hashes = file.block_hashes},
          {.descriptor = descriptor, .path = partial.string(), .resumed = attributes.st_size > 0 && !is_too_large},
          download));
  RETURN_IF_ERROR(RenameToTarget(descriptor, partial, path));
  return report.fetched_bytes;
}

}  // namespace espalier::ctl::outputs
