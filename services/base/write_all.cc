#include "services/base/write_all.h"

#include <unistd.h>

#include <cerrno>

namespace espalier {

Status WriteAll(int descriptor, std::span<const std::byte> bytes, const std::string& what) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FromErrno(errno, "writing " + what);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

Status WriteAll(int descriptor, std::string_view text, const std::string& what) {
  return WriteAll(descriptor, std::as_bytes(std::span(text)), what);
}

}  // namespace espalier
