#include "services/base/base64.h"

#include <absl/strings/escaping.h>
#include <absl/strings/string_view.h>

namespace espalier {

// In Debian's abseil, absl::string_view is not std::string_view, so the functions convert.
std::string EncodeBase64(std::string_view bytes) {
  return absl::Base64Escape(absl::string_view(bytes.data(), bytes.size()));
}

std::optional<std::string> DecodeBase64(std::string_view text) {
  std::string bytes;
  if (!absl::Base64Unescape(absl::string_view(text.data(), text.size()), &bytes)) return std::nullopt;
  return bytes;
}

}  // namespace espalier
