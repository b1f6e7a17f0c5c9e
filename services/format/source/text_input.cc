#include "services/format/source/text_input.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>

#include "services/base/byte_order_mark.h"

namespace espalier::format {

struct TextInput::State {
  std::string path;
  gzFile file = nullptr;
  WorkMeter* meter = nullptr;
  uint64_t metered_bytes = 0;  // bytes of the (compressed) file that the meter has counted
  std::string beginning;       // bytes that were read to detect a byte order mark, not yet returned

  void Count() {
    const auto offset = static_cast<int64_t>(gzoffset(file));
    if (offset <= static_cast<int64_t>(metered_bytes)) return;  // -1: unknown
    AddDone(meter, static_cast<uint64_t>(offset) - metered_bytes);
    metered_bytes = static_cast<uint64_t>(offset);
  }

  // Reads as many bytes as a byte order mark has, or all of a shorter file. Ignores errors of the gzip stream, which
  // the next read returns again.
  void ReadBeginning() {
    beginning.resize(kByteOrderMark.size());
    size_t size = 0;
    while (size < beginning.size()) {
      const int got = gzread(file, beginning.data() + size, static_cast<unsigned>(beginning.size() - size));
      if (got <= 0) break;
      size += static_cast<size_t>(got);
    }
    beginning.resize(size);
  }

  ~State() {
    if (file != nullptr) gzclose(file);
  }
};

TextInput::TextInput(std::unique_ptr<State> state) : state_(std::move(state)) {}
TextInput::~TextInput() = default;
TextInput::TextInput(TextInput&&) noexcept = default;

Result<TextInput> TextInput::Open(const std::string& path, WorkMeter* meter) {
  constexpr unsigned kBufferBytes = 1 << 18;
  auto state = std::make_unique<State>();
  state->path = path;
  state->meter = meter;
  errno = 0;
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return InvalidArgument(path + " is a folder: expected a file");
  state->file = gzopen(path.c_str(), "rb");
  if (state->file == nullptr) return FromErrno(errno == 0 ? ENOMEM : errno, "opening " + path);
  gzbuffer(state->file, kBufferBytes);
  if (path.ends_with(".gz") && gzdirect(state->file) == 1) {
    return DataLoss(path + " is empty, truncated or not compressed, although its name ends in .gz");
  }
  state->ReadBeginning();
  if (IsUtf16(state->beginning)) return InvalidArgument(path + " " + kUtf16Remedy);
  if (state->beginning == kByteOrderMark) state->beginning.clear();
  return TextInput(std::move(state));
}

Result<size_t> TextInput::Read(std::span<char> bytes, uint64_t lines_before) {
  if (!state_->beginning.empty()) {
    const size_t size = std::min(bytes.size(), state_->beginning.size());
    std::copy_n(state_->beginning.begin(), size, bytes.begin());
    state_->beginning.erase(0, size);
    return size;
  }
  const int got = gzread(state_->file, bytes.data(), static_cast<unsigned>(bytes.size()));
  state_->Count();
  int code = Z_OK;
  const char* message = gzerror(state_->file, &code);
  // For a truncated stream, gzread returns the available bytes and sets Z_BUF_ERROR.
  if (got > 0 || (got == 0 && (code == Z_OK || code == Z_STREAM_END))) return static_cast<size_t>(got);
  if (code == Z_ERRNO) return FromErrno(errno, "reading " + state_->path);
  return DataLoss(state_->path + ": the gzip stream is " + (code == Z_BUF_ERROR ? "truncated" : "corrupt") +
                  " after line " + std::to_string(lines_before) + " (" + message + ")");
}

const std::string& TextInput::path() const { return state_->path; }

}  // namespace espalier::format
