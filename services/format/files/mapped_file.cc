#include "services/format/files/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <limits>

#include "services/base/descriptor.h"

namespace espalier::format {
namespace {

Result<uint64_t> CheckedSize(int descriptor, const std::string& path, std::optional<uint64_t> expected_size_bytes) {
  struct stat about = {};
  if (fstat(descriptor, &about) != 0) return FromErrno(errno, "reading the size of " + path);
  if (!S_ISREG(about.st_mode)) return InvalidArgument(path + " is not a regular file");
  const auto size_bytes = static_cast<uint64_t>(about.st_size);
  if (expected_size_bytes && size_bytes != *expected_size_bytes) {
    return DataLoss(path + " has " + std::to_string(size_bytes) + " bytes, expected " +
                    std::to_string(*expected_size_bytes) + (size_bytes < *expected_size_bytes ? ": truncated" : ""));
  }
  if (size_bytes > std::numeric_limits<size_t>::max()) return OutOfRange(path + " is too large to be mapped");
  return size_bytes;
}

Result<std::span<const std::byte>> Map(int descriptor, const std::string& path,
                                       std::optional<uint64_t> expected_size_bytes) {
  ASSIGN_OR_RETURN(const uint64_t size_bytes, CheckedSize(descriptor, path, expected_size_bytes));
  if (size_bytes == 0) return std::span<const std::byte>();  // mmap refuses empty files
  void* const address = mmap(nullptr, size_bytes, PROT_READ, MAP_SHARED, descriptor, 0);
  if (address == MAP_FAILED) {
    return FromErrno(errno, "mapping " + std::to_string(size_bytes) + " bytes of " + path);
  }
  return std::span<const std::byte>(static_cast<const std::byte*>(address), size_bytes);
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::Open(const std::string& path,
                                                           std::optional<uint64_t> expected_size_bytes) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));  // closed on return; the mapping remains valid
  if (!file.is_open()) return FromErrno(errno, "opening " + path);
  ASSIGN_OR_RETURN(const std::span<const std::byte> bytes, Map(file.get(), path, expected_size_bytes));
  return std::shared_ptr<const MappedFile>(new MappedFile(bytes));
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace espalier::format
