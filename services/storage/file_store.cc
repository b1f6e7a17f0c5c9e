// A write goes to a TemporaryFile beside the object's file; its commit renames the TemporaryFile, or links it for
// PutIfAbsent. List reads one folder at a time, skips folders and files that vanish meanwhile, and finally removes the
// temporary files that no process has locked and that were last written more than an hour ago (RemoveAbandoned). List
// and Delete remove the folders that become empty by their deletions, because an object store has no folders.
#include "services/storage/file_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "services/base/descriptor.h"
#include "services/base/failpoint.h"
#include "services/storage/object_key.h"
#include "services/storage/temporary_file.h"

namespace espalier::storage {
namespace {

namespace fs = std::filesystem;

class FileWriter final : public ObjectWriter {
 public:
  explicit FileWriter(std::unique_ptr<TemporaryFile> file) : file_(std::move(file)) {}
  Status Write(std::span<const std::byte> bytes) override {
    RETURN_IF_ERROR(Failpoint("store.put_part"));
    return file_->Write(bytes);
  }
  Status Commit() override {
    RETURN_IF_ERROR(Failpoint("store.commit"));
    return file_->RenameToTarget();
  }

 private:
  std::unique_ptr<TemporaryFile> file_;
};

// An open regular file and its size.
class OpenFile {
 public:
  static Result<OpenFile> Open(const fs::path& path) {
    OpenFile file(Descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC)), path.string());
    if (!file.descriptor_.is_open()) return FromErrno(errno, "opening " + path.string());
    struct stat about {};
    if (fstat(file.descriptor_.get(), &about) != 0)
      return FromErrno(errno, "reading the attributes of " + path.string());
    if (!S_ISREG(about.st_mode)) return NotFound(path.string() + " is not a file");
    file.size_bytes_ = static_cast<uint64_t>(about.st_size);
    return file;
  }

  uint64_t size_bytes() const { return size_bytes_; }

  Result<std::string> Read(ByteRange range) const {
    if (range.offset > size_bytes_ || range.length > size_bytes_ - range.offset) {
      return OutOfRange(path_ + " has " + std::to_string(size_bytes_) + " bytes; requested " +
                        std::to_string(range.length) + " bytes at offset " + std::to_string(range.offset));
    }
    std::string content(range.length, '\0');
    for (size_t done = 0; done < content.size();) {
      const ssize_t got = pread(descriptor_.get(), content.data() + done, content.size() - done,
                                static_cast<off_t>(range.offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return FromErrno(errno, "reading " + path_);
      if (got == 0) return DataLoss(path_ + " became shorter while it was read");
      done += static_cast<size_t>(got);
    }
    return content;
  }

 private:
  OpenFile(Descriptor descriptor, std::string path) : descriptor_(std::move(descriptor)), path_(std::move(path)) {}

  Descriptor descriptor_;
  std::string path_;
  uint64_t size_bytes_ = 0;
};

}  // namespace

Result<fs::path> FileStore::ToPath(const std::string& key) const {
  RETURN_IF_ERROR(CheckKey(key));
  return root_ / key;
}

Result<ObjectInfo> FileStore::Head(const std::string& key) {
  ASSIGN_OR_RETURN(const fs::path path, ToPath(key));
  RETURN_IF_ERROR(Failpoint("store.head"));
  ASSIGN_OR_RETURN(const OpenFile file, OpenFile::Open(path));
  return ObjectInfo{key, file.size_bytes()};
}

Result<std::string> FileStore::Get(const std::string& key) {
  ASSIGN_OR_RETURN(const fs::path path, ToPath(key));
  RETURN_IF_ERROR(Failpoint("store.get"));
  ASSIGN_OR_RETURN(const OpenFile file, OpenFile::Open(path));
  return file.Read({0, file.size_bytes()});
}

Result<std::string> FileStore::GetRange(const std::string& key, ByteRange range) {
  ASSIGN_OR_RETURN(const fs::path path, ToPath(key));
  RETURN_IF_ERROR(Failpoint("store.get"));
  ASSIGN_OR_RETURN(const OpenFile file, OpenFile::Open(path));
  return file.Read(range);
}

Result<std::unique_ptr<ObjectWriter>> FileStore::Put(const std::string& key) {
  ASSIGN_OR_RETURN(const fs::path path, ToPath(key));
  ASSIGN_OR_RETURN(std::unique_ptr<TemporaryFile> file, TemporaryFile::CreateBeside(path));
  return std::unique_ptr<ObjectWriter>(std::make_unique<FileWriter>(std::move(file)));
}

Status FileStore::PutIfAbsent(const std::string& key, std::span<const std::byte> bytes) {
  ASSIGN_OR_RETURN(const fs::path path, ToPath(key));
  RETURN_IF_ERROR(Failpoint("store.put_if_absent"));
  ASSIGN_OR_RETURN(const std::unique_ptr<TemporaryFile> file, TemporaryFile::CreateBeside(path));
  RETURN_IF_ERROR(file->Write(bytes));
  return file->LinkToTarget();
}

Result<std::vector<ObjectInfo>> FileStore::List(const std::string& prefix) {
  RETURN_IF_ERROR(CheckPrefix(prefix));
  RETURN_IF_ERROR(Failpoint("store.list"));
  std::vector<ObjectInfo> found;
  std::vector<fs::path> temporary_files;
  // The walk starts at the deepest folder that the prefix names.
  const size_t slash = prefix.rfind('/');
  std::vector<fs::path> folders = {slash == std::string::npos ? root_ : root_ / prefix.substr(0, slash)};
  while (!folders.empty()) {  // one iterator per folder, because a recursive one ends at a folder that vanishes
    const fs::path folder = std::move(folders.back());
    folders.pop_back();
    std::error_code error;
    fs::directory_iterator it(folder, error), end;
    if (error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory) continue;
    for (; !error && it != end; it.increment(error)) {
      std::error_code gone;  // files and folders may vanish meanwhile
      if (it->is_directory(gone) && !it->is_symlink(gone)) folders.push_back(it->path());
      if (!it->is_regular_file(gone)) continue;
      if (IsTemporaryFile(it->path())) temporary_files.push_back(it->path());
      if (it->path().filename().string().starts_with(kTemporaryPrefix)) continue;
      const std::string key = it->path().lexically_relative(root_).generic_string();
      const uint64_t size_bytes = it->file_size(gone);
      if (!gone && key.starts_with(prefix)) found.push_back({key, size_bytes});
    }
    if (error) return FromErrno(error.value(), "listing " + folder.string());
  }
  for (const fs::path& path : temporary_files) {
    if (RemoveAbandoned(path)) RemoveEmptyFolders(path.parent_path());
  }
  std::sort(found.begin(), found.end(), [](const ObjectInfo& a, const ObjectInfo& b) { return a.key < b.key; });
  return found;
}

Status FileStore::Delete(const std::string& key) {
  ASSIGN_OR_RETURN(const fs::path path, ToPath(key));
  RETURN_IF_ERROR(Failpoint("store.delete"));
  if (unlink(path.c_str()) != 0 && errno != ENOENT && errno != ENOTDIR && errno != EISDIR)
    return FromErrno(errno, "deleting " + path.string());
  RemoveEmptyFolders(path.parent_path());
  return {};
}

// Removes `folder` and its parents below the root, as long as they are empty: an object store has no folders, so none
// may remain after its last object is deleted.
void FileStore::RemoveEmptyFolders(fs::path folder) const {
  while (folder != root_ && rmdir(folder.c_str()) == 0) folder = folder.parent_path();
}

std::optional<std::string> FileStore::LocalPath(const std::string& key) {
  if (!Head(key).ok()) return std::nullopt;
  return (root_ / key).string();
}

}  // namespace espalier::storage
