#include "services/base/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <string>

namespace espalier {
namespace {

// Seals that keep the size constant: an access to a mapping beyond the end of its file ends the process with SIGBUS.
constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

}  // namespace

Result<Descriptor> SharedMemory::Create(uint64_t bytes) {
  const std::string doing = "creating " + std::to_string(bytes) + " bytes of shared memory";
  if (bytes == 0) return InvalidArgument(doing + ": expected at least 1");
  Descriptor descriptor(memfd_create("espalier", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!descriptor.is_open() || ftruncate(descriptor.get(), static_cast<off_t>(bytes)) != 0 ||
      fcntl(descriptor.get(), F_ADD_SEALS, kSizeSeals) != 0) {
    return FromErrno(errno, doing);
  }
  return descriptor;
}

Result<std::shared_ptr<SharedMemory>> SharedMemory::Map(Descriptor descriptor) {
  const std::string doing = "mapping the shared memory of descriptor " + std::to_string(descriptor.get());
  struct stat file = {};
  const int seals = fcntl(descriptor.get(), F_GET_SEALS);
  if (seals < 0 || (seals & kSizeSeals) != kSizeSeals || fstat(descriptor.get(), &file) != 0) {
    return InvalidArgument(doing + ": expected a descriptor of memory with a fixed size, inherited from its creator");
  }
  (void)fcntl(descriptor.get(), F_SETFD, FD_CLOEXEC);
  return MapBytes(std::move(descriptor), static_cast<size_t>(file.st_size), doing);
}

// Several processes may create the file at the same time. Each of them sets the same size.
Result<std::shared_ptr<SharedMemory>> SharedMemory::OpenFile(const std::string& path, uint64_t bytes) {
  const std::string doing = "opening " + std::to_string(bytes) + " bytes of shared memory in " + path;
  if (bytes == 0) return InvalidArgument(doing + ": expected at least 1");
  Descriptor descriptor(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
  struct stat file = {};
  if (!descriptor.is_open() || fstat(descriptor.get(), &file) != 0) return FromErrno(errno, doing);
  const auto size = static_cast<uint64_t>(file.st_size);
  if (size != 0 && size != bytes) {
    return InvalidArgument(doing + ": the file has " + std::to_string(size) + " bytes; delete it, or use another one");
  }
  struct statvfs file_system = {};
  if (fstatvfs(descriptor.get(), &file_system) != 0) return FromErrno(errno, doing);
  const uint64_t capacity = uint64_t{file_system.f_blocks} * file_system.f_frsize;  // 0: no limit
  if (capacity > 0 && capacity < bytes) {
    return InvalidArgument(doing + ": its file system has only " + std::to_string(capacity) +
                           " bytes: enlarge it, or share less memory");
  }
  if (ftruncate(descriptor.get(), static_cast<off_t>(bytes)) != 0) return FromErrno(errno, doing);
  return MapBytes(std::move(descriptor), bytes, doing);
}

Result<std::shared_ptr<SharedMemory>> SharedMemory::MapBytes(Descriptor descriptor, size_t bytes,
                                                             const std::string& doing) {
  void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor.get(), 0);
  if (mapped == MAP_FAILED) return FromErrno(errno, doing);
  return std::shared_ptr<SharedMemory>(
      new SharedMemory(std::move(descriptor), {static_cast<std::byte*>(mapped), bytes}));
}

SharedMemory::~SharedMemory() { munmap(bytes_.data(), bytes_.size()); }

uint64_t SharedMemory::AllocatedBytes() const {
  constexpr uint64_t kBlockBytes = 512;  // of st_blocks
  struct stat file = {};
  return fstat(descriptor_.get(), &file) == 0 ? static_cast<uint64_t>(file.st_blocks) * kBlockBytes : 0;
}

}  // namespace espalier
