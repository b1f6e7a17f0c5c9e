#include "services/storage/s3/time_text.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "services/base/parse_number.h"

namespace espalier::storage {
namespace {

namespace chrono = std::chrono;

constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Returns the number formed by `length` digits at `begin`, or -1 if `text` does not have that many digits there.
int ParseDigits(std::string_view text, size_t begin, size_t length) {
  if (begin + length > text.size() || text[begin] == '-') return -1;
  return ParseNumber<int>(text.substr(begin, length)).value_or(-1);
}

struct TimeOfDay {
  int hour, minute, second;
};

// Parses "12:36:00" at `begin`.
std::optional<TimeOfDay> ParseTimeOfDay(std::string_view text, size_t begin) {
  if (begin + 8 > text.size() || text[begin + 2] != ':' || text[begin + 5] != ':') return std::nullopt;
  const TimeOfDay time{ParseDigits(text, begin, 2), ParseDigits(text, begin + 3, 2), ParseDigits(text, begin + 6, 2)};
  const bool good = time.hour >= 0 && time.hour < 24 && time.minute >= 0 && time.minute < 60 && time.second >= 0 &&
                    time.second <= 60;  // leap seconds
  return good ? std::optional(time) : std::nullopt;
}

// Returns nullopt if the date does not exist or is before 1970, or if `time` is nullopt.
std::optional<WallTime> ToWallTime(int year, int month, int day, std::optional<TimeOfDay> time) {
  if (year < 1970 || month < 1 || day < 1 || !time) return std::nullopt;
  const chrono::year_month_day date{chrono::year(year), chrono::month(static_cast<unsigned>(month)),
                                    chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  return chrono::sys_days(date) + chrono::hours(time->hour) + chrono::minutes(time->minute) +
         chrono::seconds(time->second);
}

}  // namespace

WallTime SystemTime() { return chrono::floor<chrono::seconds>(chrono::system_clock::now()); }

std::string FormatBasicUtc(WallTime time) {
  const auto day = chrono::floor<chrono::days>(time);
  const chrono::year_month_day date(day);
  const chrono::hh_mm_ss clock(time - day);
  std::array<char, 32> text;
  const int length = std::snprintf(
      text.data(), text.size(), "%04d%02u%02uT%02d%02d%02dZ", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
      static_cast<int>(clock.minutes().count()), static_cast<int>(clock.seconds().count()));
  return std::string(text.data(), static_cast<size_t>(length));
}

std::optional<WallTime> ParseExtendedUtc(std::string_view text) {
  if (text.size() < 20 || text[4] != '-' || text[7] != '-' || text[10] != 'T' || text.back() != 'Z')
    return std::nullopt;
  const std::string_view fraction = text.substr(19, text.size() - 20);  // ".123", or "" without one
  if (!fraction.empty() &&
      (fraction[0] != '.' || fraction.size() == 1 || !std::all_of(fraction.begin() + 1, fraction.end(), IsDigit)))
    return std::nullopt;
  return ToWallTime(ParseDigits(text, 0, 4), ParseDigits(text, 5, 2), ParseDigits(text, 8, 2),
                    ParseTimeOfDay(text, 11));
}

std::optional<WallTime> ParseHttpDate(std::string_view text) {
  // The other two forms of RFC 9110 are obsolete: servers must not send them.
  constexpr std::string_view kDays = "MonTueWedThuFriSatSun";
  if (text.size() != 29 || !text.ends_with(" GMT") || text.substr(3, 2) != ", ") return std::nullopt;
  const size_t day = kDays.find(text.substr(0, 3));
  if (day == kDays.npos || day % 3 != 0 || text[7] != ' ' || text[11] != ' ' || text[16] != ' ') return std::nullopt;
  int month = 0;
  for (size_t i = 0; i < kMonths.size(); ++i) {
    if (text.substr(8, 3) == kMonths[i]) month = static_cast<int>(i) + 1;
  }
  return ToWallTime(ParseDigits(text, 12, 4), month, ParseDigits(text, 5, 2), ParseTimeOfDay(text, 17));
}

}  // namespace espalier::storage
