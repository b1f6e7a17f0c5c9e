// ParseTime reads the fixed fields of RFC 3339 from left to right with a Scanner, which remembers whether a field did
// not match, so that errors are checked only once at the end. Leap seconds (":60") are rejected, as in Go.
#include "operator/kube/time.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>

namespace espalier::ctl::kube {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// Reads fields from the front of a text. After the first mismatch ok() stays false.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool ok() const { return ok_; }
  bool AtEnd() const { return rest_.empty(); }

  bool Skip(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void Expect(char c) { ok_ = Skip(c) && ok_; }

  // Reads a number of exactly `num_digits` digits in [least, most].
  int Number(int num_digits, int least, int most) {
    int number = 0;
    for (int i = 0; i < num_digits; ++i) {
      const std::optional<int> digit = Digit();
      if (!digit.has_value()) ok_ = false;
      number = 10 * number + digit.value_or(0);
    }
    if (number < least || number > most) ok_ = false;
    return number;
  }

  // Reads the digits after a decimal point; those beyond microseconds are dropped.
  microseconds Fraction() {
    int64_t count = 0;
    int num_digits = 0;
    for (std::optional<int> digit; (digit = Digit()).has_value(); ++num_digits) {
      if (num_digits < 6) count = 10 * count + *digit;
    }
    if (num_digits == 0) ok_ = false;
    for (; num_digits < 6; ++num_digits) count *= 10;
    return microseconds(count);
  }

 private:
  std::optional<int> Digit() {
    if (rest_.empty() || rest_.front() < '0' || rest_.front() > '9') return std::nullopt;
    const int digit = rest_.front() - '0';
    rest_.remove_prefix(1);
    return digit;
  }

  std::string_view rest_;
  bool ok_ = true;
};

// Reads "Z" or an offset such as "+01:00".
seconds ReadOffset(Scanner& scanner) {
  if (scanner.Skip('Z')) return seconds(0);
  const bool is_west = scanner.Skip('-');
  if (!is_west) scanner.Expect('+');
  const hours h(scanner.Number(2, 0, 23));
  scanner.Expect(':');
  const seconds offset = h + minutes(scanner.Number(2, 0, 59));
  return is_west ? -offset : offset;
}

constexpr WallTime kFirst{std::chrono::sys_days(std::chrono::year(0) / 1 / 1)};
constexpr WallTime kLast{std::chrono::sys_days(std::chrono::year(9999) / 12 / 31) + days(1) - microseconds(1)};

// Returns the time in whole seconds as text, "2026-01-02T03:04:05", and the fraction of the second.
std::pair<std::string, microseconds> FormatSeconds(WallTime time) {
  time = std::clamp(time, kFirst, kLast);
  const auto day = std::chrono::floor<days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss of_day(time - day);
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(of_day.hours().count()), static_cast<int>(of_day.minutes().count()),
                static_cast<int>(of_day.seconds().count()));
  return {text.data(), of_day.subseconds()};
}

}  // namespace

WallTime SystemTime() { return std::chrono::floor<microseconds>(std::chrono::system_clock::now()); }

std::string FormatTime(WallTime time) { return FormatSeconds(time).first + "Z"; }

std::string FormatMicroTime(WallTime time) {
  const auto [text, fraction] = FormatSeconds(time);
  std::string digits = std::to_string(fraction.count());
  digits.insert(0, 6 - digits.size(), '0');
  return text + "." + digits + "Z";
}

Result<WallTime> ParseTime(std::string_view text) {
  Scanner scanner(text);
  const std::chrono::year year(scanner.Number(4, 0, 9999));
  scanner.Expect('-');
  const std::chrono::month month(static_cast<unsigned>(scanner.Number(2, 1, 12)));
  scanner.Expect('-');
  const std::chrono::day day(static_cast<unsigned>(scanner.Number(2, 1, 31)));
  scanner.Expect('T');
  const hours h(scanner.Number(2, 0, 23));
  scanner.Expect(':');
  const minutes m(scanner.Number(2, 0, 59));
  scanner.Expect(':');
  const seconds s(scanner.Number(2, 0, 59));
  const microseconds fraction = scanner.Skip('.') ? scanner.Fraction() : microseconds(0);
  const seconds offset = ReadOffset(scanner);
  const std::chrono::year_month_day date(year, month, day);
  if (!scanner.ok() || !scanner.AtEnd() || !date.ok()) return InvalidArgument("not an RFC 3339 time");
  return std::chrono::sys_days(date) + h + m + s + fraction - offset;
}

}  // namespace espalier::ctl::kube
