#include "services/base/shorten.h"

#include <algorithm>

#include "services/base/check.h"

namespace espalier {
namespace {

constexpr std::string_view kGap = " ... ";

bool IsInsideCharacter(std::string_view text, size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
}

}  // namespace

std::string ShortenMiddle(std::string_view text, size_t max_bytes) {
  ESPALIER_CHECK(max_bytes >= 16) << "too short for a beginning and an end: " << max_bytes;
  if (text.size() <= max_bytes) return std::string(text);
  const size_t room = max_bytes - kGap.size();
  size_t head = std::min(text.find('\n'), room / 2);
  size_t tail = text.size() - (room - head);
  // A UTF-8 character has at most four bytes. The limit of three steps matters for bytes that are not valid UTF-8.
  for (int i = 0; i < 3 && head > 0 && IsInsideCharacter(text, head); ++i) --head;
  for (int i = 0; i < 3 && IsInsideCharacter(text, tail); ++i) ++tail;
  return std::string(text.substr(0, head)) + std::string(kGap) + std::string(text.substr(tail));
}

}  // namespace espalier
