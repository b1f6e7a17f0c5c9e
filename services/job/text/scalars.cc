#include "services/job/text/scalars.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "services/base/parse_number.h"
#include "services/job/text/ascii_digit.h"

namespace espalier::job {
namespace {

// Returns the position after the digits that start at `from`.
size_t SkipDigits(std::string_view text, size_t from) {
  while (from < text.size() && IsDigit(text[from])) ++from;
  return from;
}

size_t SkipJsonInteger(std::string_view text) {
  const size_t first = text.starts_with('-') ? 1 : 0;
  const size_t end = SkipDigits(text, first);
  const bool leading_zero = end - first > 1 && text[first] == '0';
  return end == first || leading_zero ? std::string_view::npos : end;
}

bool LooksLikeBool(std::string_view text) {
  constexpr std::array<std::string_view, 8> kWords = {"y", "n", "yes", "no", "on", "off", "true", "false"};
  return std::find(kWords.begin(), kWords.end(), Lower(text)) != kWords.end();
}

// Returns whether some version of YAML reads the text as a number: 1_000, 0o17, 017, 0x1f, 0b1, 1:30 (base 60), .5, +1,
// .inf, 1e3.
bool LooksLikeNumber(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  const std::string lower = Lower(text);
  if (lower == ".inf" || lower == ".nan") return true;
  if (lower.size() > 2 && lower[0] == '0' && (lower[1] == 'x' || lower[1] == 'o' || lower[1] == 'b')) {
    return lower.find_first_not_of("0123456789abcdef_", 2) == std::string::npos;
  }
  if (lower.empty() || lower.find_first_of("0123456789") == std::string::npos) return false;
  if (!IsDigit(lower[0]) && lower[0] != '.') return false;
  return lower.find_first_not_of("0123456789_.:e+-") == std::string::npos &&
         std::count(lower.begin(), lower.end(), 'e') <= 1 && std::count(lower.begin(), lower.end(), '.') <= 1 &&
         lower.find_first_of("+-") == lower.find_last_of("+-") &&
         (lower.find_first_of("+-") == std::string::npos || lower[lower.find_first_of("+-") - 1] == 'e');
}

bool LooksLikeDate(std::string_view text) {
  if (text.size() < 8 || SkipDigits(text, 0) != 4 || text[4] != '-') return false;
  return std::all_of(text.begin(), text.begin() + 8, [](char c) { return IsDigit(c) || c == '-'; });
}

}  // namespace

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

bool ReadsAsNull(std::string_view plain) {
  return plain.empty() || plain == "~" || plain == "null" || plain == "Null" || plain == "NULL";
}

bool IsJsonInteger(std::string_view text) { return SkipJsonInteger(text) == text.size(); }

bool IsJsonNumber(std::string_view text) {
  size_t end = SkipJsonInteger(text);
  if (end == std::string_view::npos) return false;
  if (end < text.size() && text[end] == '.') {
    const size_t fraction = end + 1;
    end = SkipDigits(text, fraction);
    if (end == fraction) return false;
  }
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    size_t exponent = end + 1;
    if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-')) ++exponent;
    end = SkipDigits(text, exponent);
    if (end == exponent) return false;
  }
  return end == text.size();
}

std::optional<uint64_t> ReadMemorySize(std::string_view text) {
  constexpr uint64_t kMaxBytes = (uint64_t{1} << 60) - 1;
  const size_t num_digits = SkipDigits(text, 0);
  const std::optional<uint64_t> number = ParseNumber<uint64_t>(text.substr(0, num_digits));
  if (!number) return std::nullopt;
  const std::string_view unit = text.substr(num_digits);
  uint64_t unit_bytes = 1;
  if (!unit.empty()) {
    const bool is_binary = unit.size() == 2 && unit[1] == 'i';
    const size_t power = std::string_view(is_binary ? "KMGT" : "kMGT").find(unit[0]);
    if ((unit.size() > 1 && !is_binary) || power == std::string_view::npos) return std::nullopt;
    for (size_t i = 0; i <= power; ++i) unit_bytes *= is_binary ? 1024 : 1000;
  }
  if (*number == 0 || text[0] == '0' || *number > kMaxBytes / unit_bytes) return std::nullopt;
  return *number * unit_bytes;
}

std::optional<bool> ReadBool(std::string_view text) {
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  return std::nullopt;
}

const char* OtherTypeOfScalar(std::string_view plain) {
  if (LooksLikeBool(plain)) return "a boolean";
  if (LooksLikeNumber(plain)) return "a number";
  if (LooksLikeDate(plain)) return "a date";
  if (plain == "<<" || plain == "=") return "a special key";
  return nullptr;
}

}  // namespace espalier::job
