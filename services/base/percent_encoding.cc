#include "services/base/percent_encoding.h"

#include "services/base/ascii.h"

namespace espalier {
namespace {

bool IsUnreserved(char c) { return IsWordCharacter(c) || c == '-' || c == '.' || c == '~'; }

}  // namespace

std::string PercentEncode(std::string_view text, SlashEncoding slash) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(text.size());
  for (const char c : text) {
    if (IsUnreserved(c) || (c == '/' && slash == SlashEncoding::kKeep)) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += '%';
    encoded += kHex[byte >> 4];
    encoded += kHex[byte & 15];
  }
  return encoded;
}

Result<std::string> PercentDecode(std::string_view text, PlusDecoding plus) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus == PlusDecoding::kSpace) {
      decoded += ' ';
    } else if (text[i] != '%') {
      decoded += text[i];
    } else {
      const int high = i + 2 < text.size() ? HexValue(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? HexValue(text[i + 2]) : -1;
      if (high < 0 || low < 0) return InvalidArgument("a '%' is not followed by two hexadecimal digits");
      decoded += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return decoded;
}

}  // namespace espalier
