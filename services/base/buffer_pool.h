// A pool of large reusable buffers. A mini-batch's feature rows and a step's activations take hundreds of megabytes;
// fresh memory, which the kernel zeroes page by page, would cost as much as filling in the rows.
#pragma once

#include <cstddef>
#include <map>
#include <memory>

namespace espalier {

// Thread-safe. Buffers may outlive the pool.
class BufferPool {
 public:
  // Keeps at most `max_idle_bytes` of returned buffers.
  explicit BufferPool(size_t max_idle_bytes);

  // Returns a buffer of at least `size_bytes` bytes, uninitialized and aligned to 64 bytes. It goes back to the pool
  // when the last reference is released. Throws std::bad_alloc if there is not enough memory.
  std::shared_ptr<std::byte> Take(size_t size_bytes);

  // Changes the limit of the constructor. Frees unused buffers, the smallest first, until the others fit in the new
  // limit.
  void SetMaxIdleBytes(size_t max_idle_bytes);

  // Returns the total capacity of the buffers that the pool holds unused.
  size_t IdleBytes() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace espalier
