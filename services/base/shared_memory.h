// Memory that processes of one machine share. It has no name: the process that creates it passes its descriptor to
// programs that it starts. The kernel frees the memory when the last process that uses it has ended, however it ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "services/base/descriptor.h"
#include "services/base/status.h"

namespace espalier {

class SharedMemory {
 public:
  // Returns the descriptor, close-on-exec, of `bytes` zeroed bytes (at least 1), whose size no process can change.
  // Pages take memory once a process writes to them.
  static Result<Descriptor> Create(uint64_t bytes);
  // Maps the memory of a descriptor that Create has returned, in this process or another one, and takes ownership of
  // it. InvalidArgument: the descriptor is not open, or is not of such memory.
  static Result<std::shared_ptr<SharedMemory>> Map(Descriptor descriptor);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  // The start of a page. Other processes change the bytes at any time: access them as atomic words.
  std::span<std::byte> bytes() const { return bytes_; }
  // Returns the bytes of the pages that any process has written. Thread-safe.
  uint64_t AllocatedBytes() const;

 private:
  SharedMemory(Descriptor descriptor, std::span<std::byte> bytes) : descriptor_(std::move(descriptor)), bytes_(bytes) {}

  const Descriptor descriptor_;
  const std::span<std::byte> bytes_;
};

}  // namespace espalier
