// Text files, plain or gzip, line by line in bounded memory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "services/base/status.h"
#include "services/base/work_meter.h"

namespace espalier::format {

// Owned by one thread.
class LineReader {
 public:
  // As TextInput::Open.
  static Result<LineReader> Open(const std::string& path, WorkMeter* meter = nullptr);
  ~LineReader();
  LineReader(LineReader&&) noexcept;
  LineReader& operator=(LineReader&&) = delete;

  // Returns the next line without its end ("\n" or "\r\n"); valid until the next call; nullopt at the end of the file.
  // DataLoss: truncated or corrupt gzip. InvalidArgument: a line of more than 64 MiB.
  Result<std::optional<std::string_view>> Next();

  // "edge.csv.gz:17", the line that Next returned last: for messages.
  std::string Where() const;
  uint64_t line() const;  // its number, from 1

 private:
  struct State;
  explicit LineReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// "<directory>/<name>.gz" or "<directory>/<name>", whichever exists.
std::optional<std::string> FindPlainOrGzip(const std::string& directory, const std::string& name);

}  // namespace espalier::format
