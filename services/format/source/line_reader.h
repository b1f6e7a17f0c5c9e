// Reads text files, plain or gzip, line by line in bounded memory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "services/base/status.h"
#include "services/base/work_meter.h"

namespace espalier::format {

// Thread-compatible.
class LineReader {
 public:
  // Opens a file with TextInput::Open (text_input.h), which defines the arguments and errors.
  static Result<LineReader> Open(const std::string& path, WorkMeter* meter = nullptr);
  ~LineReader();
  LineReader(LineReader&&) noexcept;
  LineReader& operator=(LineReader&&) = delete;

  // Returns the next line without its end ("\n" or "\r\n"), or nullopt at the end of the file. The line is valid until
  // the next call. Returns DataLoss for truncated or corrupt gzip, and InvalidArgument for a line of more than 64 MiB.
  Result<std::optional<std::string_view>> Next();

  // Returns the position of the line that Next returned last, for messages: "edge.csv.gz:17".
  std::string Where() const;
  uint64_t line() const;  // number of that line, from 1

 private:
  struct State;
  explicit LineReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Returns the first of "<directory>/<name>.gz" and "<directory>/<name>" that exists, or nullopt.
std::optional<std::string> FindPlainOrGzip(const std::string& directory, const std::string& name);

}  // namespace espalier::format
