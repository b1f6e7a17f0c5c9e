// Reads the bytes of a text file, plain or gzip.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "services/base/status.h"
#include "services/base/work_meter.h"

namespace espalier::format {

// Thread-compatible.
class TextInput {
 public:
  // Opens a file and skips the byte order mark of UTF-8, which some editors and spreadsheets write. A file whose name
  // ends in ".gz" must be gzip (DataLoss otherwise); any other file may be gzip or plain. `meter`, unless null, must
  // outlive this object; it counts the (compressed) bytes of the file. Returns InvalidArgument if the text begins with
  // the byte order mark of UTF-16.
  static Result<TextInput> Open(const std::string& path, WorkMeter* meter = nullptr);
  ~TextInput();
  TextInput(TextInput&&) noexcept;
  TextInput& operator=(TextInput&&) = delete;

  // Reads at most bytes.size() bytes, which must be less than 2^31. Returns the number of bytes, 0 at the end of the
  // file. Returns DataLoss for truncated or corrupt gzip; the message names the last good line by `lines_before`, the
  // number of complete lines that the caller has read before.
  Result<size_t> Read(std::span<char> bytes, uint64_t lines_before);

  const std::string& path() const;

 private:
  struct State;
  explicit TextInput(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace espalier::format
