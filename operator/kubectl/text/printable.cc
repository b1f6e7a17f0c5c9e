// The text is decoded one character at a time by a strict UTF-8 decoder. A byte that does not begin a valid sequence is
// escaped alone and decoding continues with the next byte, so invalid input cannot hide a control character.
#include "operator/kubectl/text/printable.h"

#include <array>
#include <cstdint>
#include <cstdio>

namespace espalier::ctl::text {
namespace {

struct Decoded {
  uint32_t code = 0;
  size_t num_bytes = 0;  // 0: not UTF-8
};

// RFC 3629: only the shortest form, no surrogates, nothing above U+10FFFF.
Decoded DecodeFirst(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return {};
  uint32_t code = lead & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0u) != 0x80u) return {};
    code = code << 6 | (byte(i) & 0x3Fu);
  }
  constexpr std::array<uint32_t, 5> kMinCodePoint = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < kMinCodePoint[length] || code > 0x10FFFF || is_surrogate) return {};
  return {code, length};
}

bool IsControl(uint32_t code) { return code < 0x20 || (code >= 0x7F && code < 0xA0); }

// Returns whether the character prints nothing itself, but changes where or in which order other text is shown.
bool RearrangesText(uint32_t code) {
  return code == 0x061C || code == 0x200E || code == 0x200F || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF;
}

std::string Hex(const char* format, uint32_t value) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), format, static_cast<unsigned>(value));
  return text.data();
}

std::string Escaped(uint32_t code) {
  if (code == '\n') return "\\n";
  if (code == '\r') return "\\r";
  if (code == '\t') return "\\t";
  return code < 0x100 ? Hex("\\x%02x", code) : Hex("\\u%04x", code);
}

}  // namespace

std::string Printable(std::string_view text, Spacing spacing) {
  std::string printable;
  printable.reserve(text.size());
  while (!text.empty()) {
    const Decoded first = DecodeFirst(text);
    const size_t taken = first.num_bytes == 0 ? 1 : first.num_bytes;
    const bool is_kept_space = spacing == Spacing::kKeepLinesTabs && (first.code == '\n' || first.code == '\t');
    if (first.num_bytes == 0) {
      printable += Hex("\\x%02x", static_cast<unsigned char>(text[0]));
    } else if (!is_kept_space && (IsControl(first.code) || RearrangesText(first.code))) {
      printable += Escaped(first.code);
    } else {
      printable += text.substr(0, taken);
    }
    text.remove_prefix(taken);
  }
  return printable;
}

size_t DisplayWidth(std::string_view text) {
  size_t width = 0;
  for (const char c : text) width += (static_cast<unsigned char>(c) & 0xC0u) != 0x80u ? 1 : 0;
  return width;
}

std::string_view FirstCharacters(std::string_view text, size_t count) {
  size_t end = 0;
  for (size_t characters = 0; end < text.size(); ++end) {
    const bool begins_character = (static_cast<unsigned char>(text[end]) & 0xC0u) != 0x80u;
    if (begins_character && characters++ == count) break;
  }
  return text.substr(0, end);
}

std::string CutToWidth(const std::string& text, size_t width) {
  if (DisplayWidth(text) <= width) return text;
  if (width == 0) return "";
  return std::string(FirstCharacters(text, width - 1)) + "…";
}

}  // namespace espalier::ctl::text
