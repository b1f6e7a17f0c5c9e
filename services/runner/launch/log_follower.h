// New bytes of files that others append to.
#pragma once

#include <cstdint>
#include <string>

namespace espalier::launch {

// One file, from where it ends when this is made. Owned by one thread.
class LogFollower {
 public:
  explicit LogFollower(std::string path);

  // What has been appended since the last call, at most 256 KiB.
  std::string Read();
  // For the last time: where much is left, its end, behind a line that says what was left out.
  std::string ReadEnd();

 private:
  uint64_t Size() const;
  std::string ReadAt(uint64_t offset, uint64_t bytes) const;

  std::string path_;
  uint64_t offset_ = 0;
};

}  // namespace espalier::launch
