#include "services/format/source/line_reader.h"

#include <cstring>
#include <filesystem>
#include <span>
#include <vector>

#include "services/format/source/limits.h"
#include "services/format/source/text_input.h"

namespace espalier::format {
namespace {

constexpr size_t kChunkBytes = 1 << 18;

}  // namespace

struct LineReader::State {
  explicit State(TextInput text) : input(std::move(text)) {}

  TextInput input;
  std::vector<char> buffer;  // bytes [begin, end) have been read but not yet returned
  size_t begin = 0;
  size_t end = 0;
  uint64_t line = 0;
  bool at_end = false;

  // Counts the line and returns it without a trailing '\r'.
  std::string_view ConsumeLine(std::string_view text) {
    ++line;
    if (text.ends_with('\r')) text.remove_suffix(1);
    return text;
  }

  // Returns an error if the next line, of which the first `bytes` bytes have been read, is too long.
  Status CheckLength(size_t bytes) const {
    if (bytes <= kMaxLineBytes) return {};
    return InvalidArgument(input.path() + ":" + std::to_string(line + 1) + ": the line is longer than 64 MiB");
  }

  // Moves the remaining bytes to the start of the buffer and appends a chunk.
  Status Fill() {
    if (begin > 0) std::memmove(buffer.data(), buffer.data() + begin, end - begin);
    end -= begin;
    begin = 0;
    RETURN_IF_ERROR(CheckLength(end));
    if (buffer.size() < end + kChunkBytes) buffer.resize(end + kChunkBytes);
    ASSIGN_OR_RETURN(const size_t got, input.Read(std::span(buffer).subspan(end, kChunkBytes), line));
    if (got == 0) at_end = true;
    end += got;
    return {};
  }
};

LineReader::LineReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
LineReader::~LineReader() = default;
LineReader::LineReader(LineReader&&) noexcept = default;

Result<LineReader> LineReader::Open(const std::string& path, WorkMeter* meter) {
  ASSIGN_OR_RETURN(TextInput input, TextInput::Open(path, meter));
  return LineReader(std::make_unique<State>(std::move(input)));
}

Result<std::optional<std::string_view>> LineReader::Next() {
  State& s = *state_;
  size_t searched = 0;
  while (true) {
    const char* from = s.buffer.data() + s.begin;
    const size_t length = s.end - s.begin;
    if (const void* at = length == searched ? nullptr : std::memchr(from + searched, '\n', length - searched)) {
      const size_t line_length = static_cast<size_t>(static_cast<const char*>(at) - from);
      RETURN_IF_ERROR(s.CheckLength(line_length));
      s.begin += line_length + 1;
      return std::optional(s.ConsumeLine(std::string_view(from, line_length)));
    }
    if (s.at_end) {
      if (length == 0) return std::optional<std::string_view>();
      s.begin = s.end;
      return std::optional(s.ConsumeLine(std::string_view(from, length)));
    }
    searched = length;
    RETURN_IF_ERROR(s.Fill());
  }
}

std::string LineReader::Where() const { return state_->input.path() + ":" + std::to_string(state_->line); }
uint64_t LineReader::line() const { return state_->line; }

std::optional<std::string> FindPlainOrGzip(const std::string& directory, const std::string& name) {
  for (const char* ending : {".gz", ""}) {
    std::string path = directory + "/" + name + ending;
    std::error_code error;
    if (std::filesystem::exists(path, error)) return path;
  }
  return std::nullopt;
}

}  // namespace espalier::format
