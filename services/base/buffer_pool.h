// Large buffers that are used again: a mini-batch's feature rows take hundreds of megabytes, a step's gradients tens,
// and fresh memory costs as much to get (page by page, zeroed) as the rows cost to fill.
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

  // At least `size_bytes` bytes of any content, aligned to 64 bytes; returned to the pool with the last reference.
  std::shared_ptr<std::byte> Take(size_t size_bytes);

  size_t IdleBytes() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace espalier
