#include "services/base/format_number.h"

#include <array>
#include <charconv>

namespace espalier {
namespace {

std::string FormatWith(double value, std::chars_format format, int precision) {
  std::array<char, 512> text{};  // the largest number has 309 digits before the point
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value, format, precision);
  return error == std::errc() ? std::string(text.data(), end) : std::string();
}

}  // namespace

std::string FormatFixed(double value, int decimals) { return FormatWith(value, std::chars_format::fixed, decimals); }

std::string FormatSignificant(double value, int digits) {
  return FormatWith(value, std::chars_format::general, digits);
}

}  // namespace espalier
