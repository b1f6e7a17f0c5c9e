// Members are read with libarchive. Sizes are untrusted: before memory is allocated, the size in the .npy header must
// match the size in the directory of the archive, and must not exceed the file size times the maximum compression ratio
// of deflate. Each Read opens the archive again and searches for the member, so that NpzFile holds no open file between
// calls.
#include "services/format/source/npz_file.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <span>

#include "services/format/files/npy_header.h"
#include "services/format/source/npy_file.h"
#include "services/format/source/scratch_file.h"

namespace espalier::format {
namespace {

constexpr size_t kMaxMembers = 100'000;
constexpr uint64_t kMaxInflation = 1032;  // maximum compression ratio of deflate
constexpr std::string_view kMemberEnding = ".npy";
constexpr uint64_t kFileBlockBytes = 1 << 20;  // decompressed at a time into a file

struct CloseArchive {
  void operator()(archive* zip) const { archive_read_free(zip); }
};
using Archive = std::unique_ptr<archive, CloseArchive>;

std::string ErrorText(archive* zip) {
  const char* const text = archive_error_string(zip);
  return text == nullptr ? "unknown error" : text;
}

Result<Archive> OpenZip(const std::string& path) {
  constexpr size_t kBlockBytes = 1 << 18;
  Archive zip(archive_read_new());
  if (zip == nullptr) return ResourceExhausted("opening " + path + ": no memory");
  // The seekable reader takes names and sizes from the directory of the archive, not from the local headers of members.
  archive_read_support_format_zip_seekable(zip.get());
  if (archive_read_open_filename(zip.get(), path.c_str(), kBlockBytes) != ARCHIVE_OK) {
    return InvalidArgument(path + " is not a .npz file: " + ErrorText(zip.get()));
  }
  return zip;
}

// Returns the next member, or null at the end.
Result<archive_entry*> NextMember(archive* zip, const std::string& path) {
  archive_entry* entry = nullptr;
  const int code = archive_read_next_header(zip, &entry);
  if (code == ARCHIVE_EOF) return static_cast<archive_entry*>(nullptr);
  if (code == ARCHIVE_OK) return entry;
  return InvalidArgument(path + " is not a .npz file, or is damaged: " + ErrorText(zip));
}

// Returns the name of a member without its ending: "edge_index" for "edge_index.npy". Returns InvalidArgument for a
// member that is not a plain .npy file.
Result<std::string> GetMemberName(archive_entry* entry, const std::string& path) {
  const char* const text = archive_entry_pathname(entry);
  const std::string name = text == nullptr ? "" : text;
  const std::string shown = "member '" + name.substr(0, 80) + "' of " + path;
  if (archive_entry_is_encrypted(entry) != 0) return InvalidArgument(shown + " is encrypted");
  const bool plain = name.ends_with(kMemberEnding) && name.size() > kMemberEnding.size() && name[0] != '.' &&
                     name.find('/') == std::string::npos && name.find('\\') == std::string::npos &&
                     archive_entry_filetype(entry) == AE_IFREG;
  if (!plain) return InvalidArgument(shown + ": expected files named <name>.npy, as numpy.savez makes them");
  if (archive_entry_size_is_set(entry) == 0) return InvalidArgument(shown + ": the archive does not contain its size");
  return name.substr(0, name.size() - kMemberEnding.size());
}

// Reads bytes of the member until `bytes` is full or the member ends, and returns their number. The read at the end of
// the member also verifies its checksum.
Result<size_t> ReadBytes(archive* zip, std::span<std::byte> bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const la_ssize_t got = archive_read_data(zip, bytes.data() + done, bytes.size() - done);
    if (got < 0) return DataLoss("the member is truncated or damaged: " + ErrorText(zip));
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

Result<NpyHeader> ReadHeader(archive* zip) {
  std::vector<std::byte> beginning(kNpyLongestPrefix);
  ASSIGN_OR_RETURN(const size_t got, ReadBytes(zip, beginning));
  beginning.resize(got);
  ASSIGN_OR_RETURN(const size_t header_bytes, NpyDataOffset(beginning));
  const size_t more_from = beginning.size();
  beginning.resize(std::max(header_bytes, more_from));
  ASSIGN_OR_RETURN(const size_t more, ReadBytes(zip, std::span(beginning).subspan(more_from)));
  beginning.resize(more_from + more);
  return ParseNpyHeader(beginning);
}

// Returns an error unless the member ends here and `missing`, the number of bytes that could not be read, is 0. Reading
// beyond the end makes libarchive verify the checksum.
Status CheckMemberEnd(archive* zip, size_t missing) {
  std::byte beyond{};
  ASSIGN_OR_RETURN(const size_t rest, ReadBytes(zip, std::span(&beyond, 1)));
  if (missing == 0 && rest == 0) return {};
  return DataLoss("the member has " + std::string(rest > 0 ? "more" : "less") + " data than its header announces");
}

// Reads the data after the header into memory.
Result<Tensor> ReadData(archive* zip, const NpyHeader& header) {
  Tensor tensor = Tensor::Zeros(header.dtype, header.shape);
  const std::span<std::byte> bytes(tensor.mutable_bytes(), tensor.size_bytes());
  ASSIGN_OR_RETURN(const size_t got, ReadBytes(zip, bytes));
  RETURN_IF_ERROR(CheckMemberEnd(zip, bytes.size() - got));
  return tensor;
}

// Reads the data after the header into a mapped file.
Result<Tensor> ReadDataToFile(archive* zip, const NpyHeader& header, uint64_t size_bytes,
                              const std::string& scratch_folder) {
  ASSIGN_OR_RETURN(ScratchFile file, ScratchFile::Make(scratch_folder));
  std::vector<std::byte> block(std::min<uint64_t>(size_bytes, kFileBlockBytes));
  uint64_t left = size_bytes;
  while (left > 0) {
    const std::span<std::byte> some = std::span(block).first(std::min<uint64_t>(left, block.size()));
    ASSIGN_OR_RETURN(const size_t got, ReadBytes(zip, some));
    RETURN_IF_ERROR(file.Append(some.first(got)));
    left -= got;
    if (got < some.size()) break;
  }
  RETURN_IF_ERROR(CheckMemberEnd(zip, left));
  return std::move(file).Map(header.dtype, header.shape);
}

Result<Tensor> ReadMember(archive* zip, uint64_t member_bytes, uint64_t file_bytes, std::optional<DType> declared,
                          const std::string& scratch_folder) {
  ASSIGN_OR_RETURN(NpyHeader header, ReadHeader(zip));
  ASSIGN_OR_RETURN(const int64_t count, CheckedElementCount(header.shape, ItemSize(header.dtype)));
  const uint64_t promised = static_cast<uint64_t>(count) * ItemSize(header.dtype);
  if (member_bytes < header.data_offset || promised != member_bytes - header.data_offset) {
    return InvalidArgument("the header promises " + std::to_string(promised) + " bytes of data, the member has " +
                           std::to_string(member_bytes) + " bytes including its header");
  }
  if (promised / kMaxInflation > file_bytes) {
    return InvalidArgument("the header promises " + std::to_string(promised) + " bytes of data, more than a file of " +
                           std::to_string(file_bytes) + " bytes can hold");
  }
  RETURN_IF_ERROR(ApplyDeclaredDType(declared, &header));
  return scratch_folder.empty() ? ReadData(zip, header) : ReadDataToFile(zip, header, promised, scratch_folder);
}

}  // namespace

Result<NpzFile> NpzFile::Open(const std::string& path) {
  NpzFile file;
  file.path_ = path;
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return InvalidArgument(path + " is a folder: expected a .npz file");
  file.file_bytes_ = std::filesystem::file_size(path, error);
  if (error) return FromErrno(error.value(), "opening " + path);
  ASSIGN_OR_RETURN(const Archive zip, OpenZip(path));
  while (true) {
    ASSIGN_OR_RETURN(archive_entry* const entry, NextMember(zip.get(), path));
    if (entry == nullptr) return file;
    ASSIGN_OR_RETURN(const std::string name, GetMemberName(entry, path));
    if (!file.size_bytes_.emplace(name, static_cast<uint64_t>(archive_entry_size(entry))).second) {
      return InvalidArgument(path + " has the member '" + name + ".npy' twice");
    }
    if (file.size_bytes_.size() > kMaxMembers) {
      return InvalidArgument(path + " has more than " + std::to_string(kMaxMembers) + " members");
    }
  }
}

std::vector<std::string> NpzFile::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, size_bytes] : size_bytes_) names.push_back(name);
  return names;
}

Result<Tensor> NpzFile::Read(const std::string& name, std::optional<DType> declared,
                             const std::string& scratch_folder) const {
  const auto found = size_bytes_.find(name);
  if (found == size_bytes_.end()) {
    std::string known;
    for (const auto& [other, size_bytes] : size_bytes_) {
      if (known.size() < 200) known += (known.empty() ? "" : ", ") + other;
    }
    return NotFound(path_ + " has no array '" + name + "'; there are: " + (known.empty() ? "none" : known));
  }
  ASSIGN_OR_RETURN(const Archive zip, OpenZip(path_));
  while (true) {
    ASSIGN_OR_RETURN(archive_entry* const entry, NextMember(zip.get(), path_));
    if (entry == nullptr) return Unavailable(path_ + " changed while it was read");
    ASSIGN_OR_RETURN(const std::string member, GetMemberName(entry, path_));
    if (member != name) continue;
    return ReadMember(zip.get(), found->second, file_bytes_, declared, scratch_folder)
        .While("reading '" + name + "' of " + path_);
  }
}

}  // namespace espalier::format
