// A temporary file is locked right after its creation. RemoveAbandoned locks a file before it removes it, so on a file
// system with locks it never removes one that is being written. If it removes a new file before the creator has locked
// it, the creator sees that the file has no name any more (LockNew) and creates another.
#include "services/storage/temporary_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <utility>

#include "services/base/make_folder.h"
#include "services/storage/files/open_file_name.h"
#include "services/storage/object_key.h"

namespace espalier::storage {
namespace {

// Reports a file size limit (EFBIG) as a full disk, because both have the same remedy.
Status WriteError(int error_number, const std::string& doing) {
  return FromErrno(error_number == EFBIG ? ENOSPC : error_number, doing);
}

constexpr int kMaxTries = 100;
constexpr std::string_view kPrefix = ".espalier-put-";
static_assert(kPrefix.starts_with(kTemporaryPrefix));

// Locks a new file. Returns false if RemoveAbandoned of another process has removed it before it was locked.
bool LockNew(int descriptor) {
  flock(descriptor, LOCK_EX | LOCK_NB);  // best effort: where there are no locks, age decides
  struct stat about {};
  return fstat(descriptor, &about) != 0 || about.st_nlink > 0;
}

}  // namespace

void SyncFolder(const std::filesystem::path& folder) {
  const Descriptor descriptor(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.is_open()) fsync(descriptor.get());
}

Result<std::unique_ptr<TemporaryFile>> TemporaryFile::CreateBeside(const std::filesystem::path& target) {
  const std::filesystem::path folder = target.parent_path();
  std::string name;
  Descriptor file;
  // Deleting the last object of a folder removes the folder, so another process may remove the new folder before the
  // file is created in it.
  for (int tries = 0; !file.is_open() && tries < kMaxTries; ++tries) {
    RETURN_IF_ERROR(MakeFolder(folder));
    name = (folder / (std::string(kPrefix) + "XXXXXX")).string();
    file = Descriptor(mkostemp(name.data(), O_CLOEXEC));
    if (!file.is_open() && errno != ENOENT) break;
    if (file.is_open() && !LockNew(file.get())) file.Close();
  }
  if (!file.is_open()) return FromErrno(errno, "creating a file for " + target.string());
  fchmod(file.get(), 0644);
  return std::unique_ptr<TemporaryFile>(new TemporaryFile(std::move(file), name, target));
}

TemporaryFile::~TemporaryFile() {
  if (!path_.empty()) unlink(path_.c_str());
}

Status TemporaryFile::Write(std::span<const std::byte> bytes) {
  if (!file_.is_open()) return FailedPrecondition("writing " + target_.string() + ": the file is already committed");
  while (!bytes.empty()) {
    const ssize_t written = write(file_.get(), bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return WriteError(errno, "writing " + std::to_string(bytes.size()) + " bytes to " + target_.string() + " after " +
                                   std::to_string(bytes_written_) + " bytes");
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
    bytes_written_ += static_cast<uint64_t>(written);
  }
  return {};
}

Status TemporaryFile::Sync() {
  if (!file_.is_open()) return FailedPrecondition("committing " + target_.string() + ": the file is already committed");
  // Some file systems report a full disk only here.
  if (fsync(file_.get()) == 0) return {};
  return WriteError(errno, "syncing " + std::to_string(bytes_written_) + " bytes of " + target_.string());
}

Status TemporaryFile::RenameToTarget() {
  RETURN_IF_ERROR(Sync());
  if (rename(path_.c_str(), target_.c_str()) != 0) return FromErrno(errno, "renaming to " + target_.string());
  path_.clear();
  SyncFolder(target_.parent_path());
  file_.Close();
  return {};
}

Status TemporaryFile::LinkToTarget() {
  RETURN_IF_ERROR(Sync());
  if (link(path_.c_str(), target_.c_str()) != 0) {
    const int error_number = errno;
    // On NFS, link(2) may report EEXIST although it has created the link: the response to the first request was lost.
    const bool is_ours = error_number == EEXIST && NamesOpenFile(target_, file_.get());
    if (!is_ours) return FromErrno(error_number, "creating " + target_.string());
  }
  SyncFolder(target_.parent_path());
  file_.Close();
  return {};
}

bool IsTemporaryFile(const std::filesystem::path& path) { return path.filename().string().starts_with(kPrefix); }

namespace {

// Returns whether no other process has locked the file. True if the file system has no locks: then only age decides.
bool IsUnlocked(int descriptor) {
  return flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno == ENOLCK || errno == EOPNOTSUPP;
}

}  // namespace

bool RemoveAbandoned(const std::filesystem::path& path) {
  // Opened for writing, because an exclusive lock on NFS needs write access.
  const Descriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!file.is_open()) return errno == ENOENT;
  struct stat about {};
  const auto is_old = [&] {
    const auto changed = std::chrono::system_clock::from_time_t(about.st_mtime);
    return std::chrono::system_clock::now() - changed > kAbandonedAfter;
  };
  return fstat(file.get(), &about) == 0 && S_ISREG(about.st_mode) && is_old() && IsUnlocked(file.get()) &&
         unlink(path.c_str()) == 0;
}

}  // namespace espalier::storage
