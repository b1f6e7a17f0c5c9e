// The bytes of a text file, plain or gzip.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "services/base/status.h"
#include "services/base/work_meter.h"

namespace espalier::format {

// Owned by one thread.
class TextInput {
 public:
  // Opens the file and skips UTF-8's byte order mark, which some editors and spreadsheets write. A file whose name ends
  // in ".gz" must be gzip, any other may be. `meter`, unless null, outlives this and counts the file's bytes as they
  // are read. InvalidArgument: the text begins with UTF-16's byte order mark.
  static Result<TextInput> Open(const std::string& path, WorkMeter* meter = nullptr);
  ~TextInput();
  TextInput(TextInput&&) noexcept;
  TextInput& operator=(TextInput&&) = delete;

  // The next bytes, at most bytes.size() (below 2^31): how many; 0 at the end. DataLoss for truncated or corrupt gzip,
  // which says that it was after line `lines_before`.
  Result<size_t> Read(std::span<char> bytes, uint64_t lines_before);

  const std::string& path() const;

 private:
  struct State;
  explicit TextInput(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace espalier::format
