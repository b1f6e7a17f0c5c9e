#include "services/base/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>

namespace espalier {
namespace {

// A smaller file would make accesses to its mappings end with SIGBUS.
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
  const auto size = static_cast<size_t>(file.st_size);
  void* const mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor.get(), 0);
  if (mapped == MAP_FAILED) return FromErrno(errno, doing);
  (void)fcntl(descriptor.get(), F_SETFD, FD_CLOEXEC);
  return std::shared_ptr<SharedMemory>(
      new SharedMemory(std::move(descriptor), {static_cast<std::byte*>(mapped), size}));
}

SharedMemory::~SharedMemory() { munmap(bytes_.data(), bytes_.size()); }

uint64_t SharedMemory::AllocatedBytes() const {
  constexpr uint64_t kBlockBytes = 512;  // of st_blocks
  struct stat file = {};
  return fstat(descriptor_.get(), &file) == 0 ? static_cast<uint64_t>(file.st_blocks) * kBlockBytes : 0;
}

}  // namespace espalier
