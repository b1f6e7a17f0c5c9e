#include "operator/kubectl/view/age.h"

#include <algorithm>

namespace espalier::ctl::view {
namespace {

constexpr int64_t kMinute = 60, kHour = 60 * kMinute, kDay = 24 * kHour, kYear = 365 * kDay;

// Formats `seconds` in the larger unit, and the rest in the smaller one if the value in the larger unit is less than
// `two_units_below`, as kubectl does.
std::string Text(int64_t seconds, int64_t large, const char* large_name, int64_t small, const char* small_name,
                 int64_t two_units_below) {
  std::string text = std::to_string(seconds / large) + large_name;
  const int64_t rest = seconds % large / small;
  if (seconds / large < two_units_below && rest > 0) text += std::to_string(rest) + small_name;
  return text;
}

}  // namespace

std::string AgeText(kube::WallTime then, kube::WallTime now) {
  const int64_t seconds = std::max<int64_t>(0, std::chrono::floor<std::chrono::seconds>(now - then).count());
  if (seconds < 2 * kMinute) return std::to_string(seconds) + "s";
  if (seconds < 3 * kHour) return Text(seconds, kMinute, "m", 1, "s", 10);
  if (seconds < 2 * kDay) return Text(seconds, kHour, "h", kMinute, "m", 8);
  if (seconds < 2 * kYear) return Text(seconds, kDay, "d", kHour, "h", 8);
  return Text(seconds, kYear, "y", kDay, "d", 8);
}

}  // namespace espalier::ctl::view
