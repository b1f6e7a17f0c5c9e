#include "operator/client/base64.h"

#include <cstdint>

namespace espalier::ctl::client {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string EncodeBase64(std::string_view bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const std::string_view group = bytes.substr(i, 3);
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k) bits = bits << 8 | (k < group.size() ? static_cast<unsigned char>(group[k]) : 0u);
    for (size_t k = 0; k < 4; ++k) text += k <= group.size() ? kAlphabet[(bits >> (18 - 6 * k)) & 63] : '=';
  }
  return text;
}

std::optional<std::string> DecodeBase64(std::string_view text) {
  std::string bytes;
  uint32_t bits = 0;
  size_t num_digits = 0;
  size_t num_pads = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r') continue;
    const size_t digit = kAlphabet.find(c);
    if (c == '=') {
      ++num_pads;
    } else if (digit == std::string_view::npos || num_pads > 0) {
      return std::nullopt;
    } else {
      bits = bits << 6 | static_cast<uint32_t>(digit);
      // Each digit after the first of a group completes a byte.
      if (++num_digits % 4 != 1) bytes += static_cast<char>(bits >> (6 - 2 * ((num_digits + 3) % 4)));
    }
  }
  if (num_digits % 4 == 1 || num_pads > 2 || (num_digits + num_pads) % 4 != 0) return std::nullopt;
  return bytes;
}

}  // namespace espalier::ctl::client
