// Fuzzes the bytes of a watch: passes them to a LineBuffer in chunks, as a network would, and parses each line that the
// buffer returns as a watch event.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "operator/client/cpprest/line_buffer.h"
#include "operator/kube/api_error.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/watch_event.h"
#include "services/base/check.h"

namespace espalier::ctl {
namespace {

using client::LineBuffer;

constexpr size_t kMaxLineBytes = 4096;

// Parses the line as a watch event and checks the result.
void CheckLine(std::string_view line) {
  const Result<kube::WatchEvent> event = kube::ParseWatchEvent(line);
  if (!event.ok()) {
    ESPALIER_CHECK(event.status().code() == StatusCode::kInvalidArgument);
    return;
  }
  ESPALIER_CHECK(event->object.is_object());
  const Result<kube::ObjectMeta> meta = kube::ParseObjectMeta(event->object);
  ESPALIER_CHECK(!meta.ok() || !meta->key.name.empty());
  if (event->type == kube::WatchEventType::kError) {
    ESPALIER_CHECK(!kube::ToStatus(kube::ParseStatusObject(event->object)).ok());
  }
}

// Returns the expected lines of a stream with these bytes: all lines that end with a newline.
std::vector<std::string_view> SplitLines(std::string_view text) {
  std::vector<std::string_view> lines;
  for (size_t end = 0; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1)) {
    lines.push_back(text.substr(0, end));
  }
  return lines;
}

// Appends the text in chunks of 1 to 256 bytes. The first byte of a chunk determines its size. Returns the last result.
LineBuffer::Appended AppendInChunks(std::string_view text, LineBuffer& buffer) {
  LineBuffer::Appended appended = LineBuffer::Appended::kContinue;
  while (!text.empty() && appended != LineBuffer::Appended::kRefused) {
    const size_t size = std::min(text.size(), size_t{1} + static_cast<unsigned char>(text.front()));
    appended = buffer.Append(text.substr(0, size), [] {});
    text.remove_prefix(size);
  }
  return appended;
}

}  // namespace
}  // namespace espalier::ctl

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace espalier::ctl;  // NOLINT: one function
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  LineBuffer buffer({.max_line_bytes = kMaxLineBytes, .high_water_bytes = size});
  const bool is_refused = AppendInChunks(text, buffer) == LineBuffer::Appended::kRefused;
  buffer.End({});

  const espalier::Deadline expired = espalier::Deadline::At({});  // the buffer is complete, so no call has to wait
  for (const std::string_view expected : SplitLines(text)) {
    const auto line = buffer.NextLine(expired);
    if (!line.ok()) {
      ESPALIER_CHECK(is_refused && line.status().code() == espalier::StatusCode::kResourceExhausted);
      return 0;
    }
    ESPALIER_CHECK(line->has_value() && **line == expected && expected.size() <= kMaxLineBytes);
    CheckLine(**line);
  }
  const auto end = buffer.NextLine(expired);
  ESPALIER_CHECK(is_refused ? !end.ok() : end.ok() && !end->has_value());
  return 0;
}
