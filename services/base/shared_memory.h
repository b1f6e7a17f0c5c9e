// Memory that processes of one machine share. Memory made by Create has no name: the process that creates it passes its
// descriptor to programs that it starts, and the kernel frees the memory when the last process that uses it has ended,
// however it ends. Memory of OpenFile is a file, usually in tmpfs, for processes without a common parent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "services/base/descriptor.h"
#include "services/base/status.h"

namespace espalier {

class SharedMemory {
 public:
  // Returns the descriptor, close-on-exec, of `bytes` zeroed bytes (at least 1), whose size no process can change.
  // Pages take memory once a process reads or writes them.
  static Result<Descriptor> Create(uint64_t bytes);
  // Maps the memory of a descriptor that Create has returned, in this process or another one, and takes ownership of
  // the descriptor. InvalidArgument: the descriptor is not open, or is not of such memory.
  static Result<std::shared_ptr<SharedMemory>> Map(Descriptor descriptor);
  // Creates or opens the file and maps it. All processes must pass the same `bytes` (at least 1), and none may truncate
  // the file: an access beyond its end, or to a page for which the file system has no room, ends the process with
  // SIGBUS. The file stays until it is deleted. InvalidArgument: the file exists and has another size, or its file
  // system is smaller.
  static Result<std::shared_ptr<SharedMemory>> OpenFile(const std::string& path, uint64_t bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  // Returns the memory, which begins at a page boundary. Other processes change the bytes at any time: access them as
  // atomic words.
  std::span<std::byte> bytes() const { return bytes_; }
  // Returns the size in bytes of the pages that have been allocated: those that processes have read or written so far
  // (in a file on disk: written). 0 if it cannot be determined. Thread-safe.
  uint64_t AllocatedBytes() const;

 private:
  static Result<std::shared_ptr<SharedMemory>> MapBytes(Descriptor descriptor, size_t bytes, const std::string& doing);
  SharedMemory(Descriptor descriptor, std::span<std::byte> bytes) : descriptor_(std::move(descriptor)), bytes_(bytes) {}

  const Descriptor descriptor_;
  const std::span<std::byte> bytes_;
};

}  // namespace espalier
