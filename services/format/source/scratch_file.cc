#include "services/format/source/scratch_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "services/base/make_folder.h"
#include "services/base/write_all.h"

namespace espalier::format {
namespace {

struct Mapping {
  Mapping(void* at, size_t size) : address(at), size_bytes(size) {}
  ~Mapping() { munmap(address, size_bytes); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  void* const address;
  const size_t size_bytes;
};

// Opens an unnamed file and returns its descriptor, or -1 with errno set. If the file system does not support
// O_TMPFILE, creates a named file and unlinks it.
int OpenUnnamedFile(const std::string& folder) {
  const int unnamed = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (unnamed >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)) return unnamed;
  std::string pattern = folder + "/.espalier-scratch-XXXXXX";
  const int named = mkostemp(pattern.data(), O_CLOEXEC);
  if (named >= 0) unlink(pattern.c_str());
  return named;
}

// Creates an unnamed file in `folder`, and the folder if it does not exist.
Result<Descriptor> CreateUnnamedFile(const std::string& folder) {
  RETURN_IF_ERROR(MakeFolder(folder));
  Descriptor descriptor(OpenUnnamedFile(folder));
  if (!descriptor.is_open()) return FromErrno(errno, "creating a file in " + folder);
  return descriptor;
}

}  // namespace

Result<ScratchFile> ScratchFile::Make(const std::string& folder) {
  ASSIGN_OR_RETURN(Descriptor descriptor, CreateUnnamedFile(folder));
  return ScratchFile(std::move(descriptor), "a file in " + folder);
}

Status ScratchFile::Append(std::span<const std::byte> bytes) {
  RETURN_IF_ERROR(WriteAll(descriptor_.get(), bytes, where_));
  size_bytes_ += bytes.size();
  return {};
}

Result<Tensor> ScratchFile::Map(DType dtype, std::vector<int64_t> shape) && {
  ASSIGN_OR_RETURN(const int64_t count, CheckedElementCount(shape, ItemSize(dtype)));
  const uint64_t expected = static_cast<uint64_t>(count) * ItemSize(dtype);
  if (expected != size_bytes_) {
    return Internal(where_ + " has " + std::to_string(size_bytes_) + " bytes: expected " + std::to_string(expected));
  }
  if (count == 0) return Tensor::Zeros(dtype, std::move(shape));
  void* address = mmap(nullptr, size_bytes_, PROT_READ, MAP_SHARED, descriptor_.get(), 0);
  if (address == MAP_FAILED) return FromErrno(errno, "mapping " + where_);
  auto mapping = std::make_shared<Mapping>(address, size_bytes_);
  return Tensor::Wrap(dtype, std::move(shape), address, std::move(mapping));
}

Result<ScratchRegion> MakeScratchRegion(const std::string& folder, uint64_t size_bytes) {
  if (size_bytes == 0) return ScratchRegion();
  ASSIGN_OR_RETURN(const Descriptor file, CreateUnnamedFile(folder));  // closed on return; the mapping remains valid
  // Reserve the space now: writing a mapped page for which the disk has no space would raise SIGBUS.
  int error = EINTR;
  while (error == EINTR) error = posix_fallocate(file.get(), 0, static_cast<off_t>(size_bytes));
  if (error != 0) return FromErrno(error, "reserving " + std::to_string(size_bytes) + " bytes in " + folder);
  void* address = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (address == MAP_FAILED) return FromErrno(errno, "mapping a file in " + folder);
  return ScratchRegion{.bytes = {static_cast<std::byte*>(address), size_bytes},
                       .owner = std::make_shared<Mapping>(address, size_bytes)};
}

}  // namespace espalier::format
