#include "services/format/source/line_reader.h"

#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

namespace espalier::format {
namespace {

constexpr size_t kChunkBytes = 1 << 18;
constexpr size_t kMaxLineBytes = 64 << 20;

}  // namespace

struct LineReader::State {
  std::string path;
  gzFile file = nullptr;
  std::vector<char> buffer;  // [begin, end) is read and not yet returned
  size_t begin = 0;
  size_t end = 0;
  uint64_t line = 0;
  bool at_end = false;

  ~State() {
    if (file != nullptr) gzclose(file);
  }

  // Appends a chunk behind what is left.
  Status Fill() {
    if (begin > 0) std::memmove(buffer.data(), buffer.data() + begin, end - begin);
    end -= begin;
    begin = 0;
    if (end > kMaxLineBytes) {
      return InvalidArgument(path + ":" + std::to_string(line + 1) + ": the line is longer than 64 MiB");
    }
    if (buffer.size() < end + kChunkBytes) buffer.resize(end + kChunkBytes);
    const int got = gzread(file, buffer.data() + end, kChunkBytes);
    int code = Z_OK;
    const char* message = gzerror(file, &code);
    // A truncated stream gives what it has and Z_BUF_ERROR.
    if (got < 0 || (got == 0 && code != Z_OK && code != Z_STREAM_END)) {
      if (code == Z_ERRNO) return FromErrno(errno, "reading " + path);
      return DataLoss(path + ": the gzip stream is " + (code == Z_BUF_ERROR ? "truncated" : "corrupt") +
                      " after line " + std::to_string(line) + " (" + message + ")");
    }
    if (got == 0) at_end = true;
    end += static_cast<size_t>(got);
    return {};
  }
};

LineReader::LineReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
LineReader::~LineReader() = default;
LineReader::LineReader(LineReader&&) noexcept = default;

Result<LineReader> LineReader::Open(const std::string& path) {
  auto state = std::make_unique<State>();
  state->path = path;
  errno = 0;
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return InvalidArgument(path + " is a folder: expected a file");
  state->file = gzopen(path.c_str(), "rb");
  if (state->file == nullptr) return FromErrno(errno == 0 ? ENOMEM : errno, "opening " + path);
  gzbuffer(state->file, kChunkBytes);
  if (path.ends_with(".gz") && gzdirect(state->file) == 1) {
    return DataLoss(path + ": not a gzip file, though its name says so (empty, truncated or plain)");
  }
  return LineReader(std::move(state));
}

Result<std::optional<std::string_view>> LineReader::Next() {
  State& s = *state_;
  size_t searched = 0;
  while (true) {
    const char* from = s.buffer.data() + s.begin;
    const size_t length = s.end - s.begin;
    if (const void* at = length == searched ? nullptr : std::memchr(from + searched, '\n', length - searched)) {
      size_t line_length = static_cast<size_t>(static_cast<const char*>(at) - from);
      s.begin += line_length + 1;
      s.line++;
      if (line_length > 0 && from[line_length - 1] == '\r') --line_length;
      return std::optional(std::string_view(from, line_length));
    }
    if (s.at_end) {
      if (length == 0) return std::optional<std::string_view>();
      s.begin = s.end;
      s.line++;
      return std::optional(std::string_view(from, length));
    }
    searched = length;
    RETURN_IF_ERROR(s.Fill());
  }
}

std::string LineReader::Where() const { return state_->path + ":" + std::to_string(state_->line); }
const std::string& LineReader::path() const { return state_->path; }

std::optional<std::string> FindPlainOrGzip(const std::string& directory, const std::string& name) {
  for (const char* ending : {".gz", ""}) {
    std::string path = directory + "/" + name + ending;
    std::error_code error;
    if (std::filesystem::exists(path, error)) return path;
  }
  return std::nullopt;
}

}  // namespace espalier::format
