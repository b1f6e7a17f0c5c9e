#include "services/base/random_access_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

namespace espalier {

std::shared_ptr<std::byte> AllocateForRandomAccess(size_t size_bytes) {
  if (size_bytes < kHugePage) {
    return {static_cast<std::byte*>(std::calloc(std::max<size_t>(1, size_bytes), 1)), std::free};
  }
  void* memory = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  madvise(memory, size_bytes, MADV_HUGEPAGE);  // without huge pages, accesses are only slower
  return {static_cast<std::byte*>(memory), [size_bytes](std::byte* mapped) { munmap(mapped, size_bytes); }};
}

}  // namespace espalier
