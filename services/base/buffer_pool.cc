#include "services/base/buffer_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

#include "services/base/mutex.h"
#include "services/base/random_access_memory.h"

namespace espalier {
namespace {

constexpr size_t kSmallAlignment = 64;

// Allocates `capacity` bytes. Large buffers request huge pages, because rows are written to them in random order.
std::byte* Allocate(size_t capacity) {
  const bool is_large = capacity >= kHugePage;
  void* memory = std::aligned_alloc(is_large ? kHugePage : kSmallAlignment, capacity);
  if (memory == nullptr) throw std::bad_alloc();
  if (is_large) madvise(memory, capacity, MADV_HUGEPAGE);  // without huge pages, accesses are only slower
  return static_cast<std::byte*>(memory);
}

size_t CapacityFor(size_t size_bytes) {
  const size_t unit = size_bytes >= kHugePage ? kHugePage : kSmallAlignment;
  return (std::max<size_t>(size_bytes, 1) + unit - 1) / unit * unit;
}

}  // namespace

struct BufferPool::Shared {
  explicit Shared(size_t limit) : max_idle_bytes(limit) {}
  ~Shared() {
    for (const auto& [capacity, buffer] : idle) std::free(buffer);
  }

  // Returns an unused buffer of at least `wanted` bytes with its capacity, or {0, null}.
  std::pair<size_t, std::byte*> TakeIdle(size_t wanted) {
    MutexLock lock(&mutex);
    const auto found = idle.lower_bound(wanted);
    // A buffer more than twice as large as needed is kept for a caller that needs its size.
    if (found == idle.end() || found->first > 2 * wanted) return {0, nullptr};
    const auto buffer = *found;
    idle.erase(found);
    idle_bytes -= buffer.first;
    return buffer;
  }

  void Return(size_t capacity, std::byte* buffer) {
    MutexLock lock(&mutex);
    if (capacity > max_idle_bytes) {
      std::free(buffer);
      return;
    }
    FreeDownTo(max_idle_bytes - capacity);
    idle.emplace(capacity, buffer);
    idle_bytes += capacity;
  }

  void SetLimit(size_t limit) {
    MutexLock lock(&mutex);
    max_idle_bytes = limit;
    FreeDownTo(limit);
  }

  // Frees unused buffers until they take at most `bytes` bytes. Frees the smallest first, because large buffers cost
  // more to allocate again.
  void FreeDownTo(size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    while (idle_bytes > bytes) {
      const auto smallest = idle.begin();
      idle_bytes -= smallest->first;
      std::free(smallest->second);
      idle.erase(smallest);
    }
  }

  Mutex mutex;
  size_t max_idle_bytes ABSL_GUARDED_BY(mutex);
  std::multimap<size_t, std::byte*> idle ABSL_GUARDED_BY(mutex);  // by capacity
  size_t idle_bytes ABSL_GUARDED_BY(mutex) = 0;
};

BufferPool::BufferPool(size_t max_idle_bytes) : shared_(std::make_shared<Shared>(max_idle_bytes)) {}

std::shared_ptr<std::byte> BufferPool::Take(size_t size_bytes) {
  const size_t wanted = CapacityFor(size_bytes);
  auto [capacity, buffer] = shared_->TakeIdle(wanted);
  if (buffer == nullptr) {
    capacity = wanted;
    buffer = Allocate(capacity);
  }
  return {buffer, [shared = shared_, size = capacity](std::byte* returned) { shared->Return(size, returned); }};
}

void BufferPool::SetMaxIdleBytes(size_t max_idle_bytes) { shared_->SetLimit(max_idle_bytes); }

size_t BufferPool::IdleBytes() const {
  MutexLock lock(&shared_->mutex);
  return shared_->idle_bytes;
}

}  // namespace espalier
