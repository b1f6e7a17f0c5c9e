// libarchive only reads the archive, with two formats and one filter enabled; the code here writes the files. Each
// entry is checked before any of it is written. The limit of bytes counts the bytes that are unpacked, not the sizes
// that the archive declares.
#include "services/job/script/unpack_archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <set>

#include "services/base/descriptor.h"
#include "services/base/write_all.h"
#include "services/job/rules/script_path.h"

namespace espalier::script {
namespace {

constexpr size_t kChunkBytes = size_t{64} << 10;

struct FreeArchive {
  void operator()(archive* reader) const { archive_read_free(reader); }
};

class Unpacker {
 public:
  Unpacker(const std::string& shown, const std::string& folder, const ArchiveLimits& limits)
      : shown_(shown), folder_(folder), limits_(limits), reader_(archive_read_new()) {
    archive_read_support_format_tar(reader_.get());
    archive_read_support_format_zip(reader_.get());
    archive_read_support_filter_gzip(reader_.get());
  }

  Status Unpack(std::string_view bytes) {
    if (archive_read_open_memory(reader_.get(), bytes.data(), bytes.size()) != ARCHIVE_OK) return Damaged();
    for (;;) {
      archive_entry* entry = nullptr;
      const int code = archive_read_next_header(reader_.get(), &entry);
      if (code == ARCHIVE_EOF) break;
      if (code != ARCHIVE_OK && code != ARCHIVE_WARN) return Damaged();
      RETURN_IF_ERROR(UnpackEntry(entry));
    }
    if (num_entries_ == 0) return InvalidArgument(shown_ + ": the archive is empty");
    return Status();
  }

 private:
  std::string ErrorText() const {
    const char* const text = archive_error_string(reader_.get());
    return text == nullptr ? "unknown error" : text;
  }

  Status Damaged() const {
    return InvalidArgument(shown_ + ": the archive is damaged, or neither tar, tar with gzip nor zip: " + ErrorText());
  }

  Status TooMany() const {
    return InvalidArgument(shown_ + ": the archive has more than " + std::to_string(limits_.max_entries) +
                           " entries: pack only source files");
  }

  // Returns the path of the entry, converted to UTF-8 if possible.
  Result<std::string> ReadPath(archive_entry* entry) const {
    const char* text = archive_entry_pathname_utf8(entry);
    if (text == nullptr) text = archive_entry_pathname(entry);
    if (text == nullptr) return InvalidArgument(shown_ + ": an entry has no name that can be read");
    return std::string(text);
  }

  Status UnpackEntry(archive_entry* entry) {
    ASSIGN_OR_RETURN(std::string path, ReadPath(entry));
    const std::string error_prefix = shown_ + ": entry '" + path + "' ";
    if (++num_entries_ > limits_.max_entries) return TooMany();
    const auto type = archive_entry_filetype(entry);
    if (archive_entry_hardlink(entry) != nullptr) {
      return InvalidArgument(error_prefix + "is a hard link: pack only files and folders (tar --hard-dereference)");
    }
    if (archive_entry_symlink(entry) != nullptr) {
      // With --dereference alone, GNU tar stores the second link to a file as a hard link.
      return InvalidArgument(error_prefix +
                             "is a symbolic link: pack only files and folders (tar --dereference --hard-dereference)");
    }
    if (type != AE_IFREG && type != AE_IFDIR) {
      return InvalidArgument(error_prefix + "is not a file or folder: pack only files and folders");
    }
    if (archive_entry_is_encrypted(entry) != 0) return InvalidArgument(error_prefix + "is encrypted");
    while (path.starts_with("./")) path.erase(0, 2);  // as in an archive made by `tar -C folder .`
    if (type == AE_IFDIR) {
      while (path.ends_with('/')) path.pop_back();
      if (path.empty() || path == ".") return Status();
    }
    if (!job::IsPathWithin(path))
      return InvalidArgument(error_prefix +
                             "leads outside the archive's folder, or has an empty or '.' part, a "
                             "backslash or a control character");
    if (type == AE_IFDIR) return MakeFolder(path);
    if (!files_.insert(path).second) return InvalidArgument(error_prefix + "occurs twice");
    if (const size_t slash = path.rfind('/'); slash != std::string::npos) {
      RETURN_IF_ERROR(MakeFolder(path.substr(0, slash)));
    }
    return WriteFile(path, error_prefix, (archive_entry_perm(entry) & S_IXUSR) != 0);
  }

  // Creates the folder and its parents, with permissions for all users to enter them.
  Status MakeFolder(const std::string& path) {
    for (size_t end = 0; end < path.size(); ++end) {
      end = std::min(path.find('/', end), path.size());
      const std::string part = folder_ + "/" + path.substr(0, end);
      const bool is_new = mkdir(part.c_str(), 0755) == 0;
      if (!is_new && errno != EEXIST) return FromErrno(errno, "making the folder " + part);
      if (is_new && ++num_folders_ > limits_.max_entries) return TooMany();
      struct stat found {};
      if (lstat(part.c_str(), &found) != 0) return FromErrno(errno, part);
      if (!S_ISDIR(found.st_mode))
        return InvalidArgument(shown_ + ": entry '" + path.substr(0, end) + "' is a file and a folder");
      if (chmod(part.c_str(), 0755) != 0) return FromErrno(errno, part);
    }
    return Status();
  }

  Status WriteFile(const std::string& path, const std::string& error_prefix, bool is_executable) {
    const std::string target = folder_ + "/" + path;
    Descriptor file(open(target.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.is_open() && errno == EISDIR) return InvalidArgument(error_prefix + "is a file and a folder");
    if (!file.is_open()) return FromErrno(errno, "writing " + target);
    for (;;) {
      const la_ssize_t got = archive_read_data(reader_.get(), chunk_.data(), chunk_.size());
      if (got < 0) return InvalidArgument(error_prefix + "is damaged: " + ErrorText());
      if (got == 0) break;
      num_bytes_ += static_cast<uint64_t>(got);
      if (num_bytes_ > limits_.max_bytes) {
        return InvalidArgument(shown_ + ": the archive's files have more than " + std::to_string(limits_.max_bytes) +
                               " bytes: pack only source files");
      }
      RETURN_IF_ERROR(WriteAll(file.get(), std::string_view(chunk_.data(), static_cast<size_t>(got)), target));
    }
    if (fchmod(file.get(), is_executable ? 0755 : 0644) != 0) return FromErrno(errno, target);
    return close(file.Release()) == 0 ? Status() : FromErrno(errno, "writing " + target);
  }

  const std::string& shown_;   // outlives this
  const std::string& folder_;  // outlives this
  const ArchiveLimits limits_;
  std::unique_ptr<archive, FreeArchive> reader_;
  std::array<char, kChunkBytes> chunk_;
  std::set<std::string> files_;  // paths of the files so far
  size_t num_entries_ = 0;
  size_t num_folders_ = 0;  // created folders, including those that appear only in paths of files
  uint64_t num_bytes_ = 0;
};

}  // namespace

Status UnpackArchive(std::string_view archive, const std::string& shown, const std::string& folder,
                     const ArchiveLimits& limits) {
  return std::make_unique<Unpacker>(shown, folder, limits)->Unpack(archive);
}

}  // namespace espalier::script
