// Reads what other processes append to a log file.
#pragma once

#include <cstdint>
#include <string>

namespace espalier::launch {

// Reads what is appended to one file after the construction of this object. The file may not exist yet. Not
// thread-safe.
class LogFollower {
 public:
  explicit LogFollower(std::string path);

  // Returns what was appended since the last call, at most 256 KiB; the next call continues there.
  std::string Read();
  // For the last call: if more than 256 KiB remain, returns a line that says how much is omitted, followed by the last
  // 256 KiB.
  std::string ReadEnd();

 private:
  uint64_t Size() const;
  std::string ReadAt(uint64_t offset, uint64_t bytes) const;

  std::string path_;
  uint64_t offset_ = 0;
};

}  // namespace espalier::launch
