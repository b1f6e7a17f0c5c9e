// What a ratio is to reach and whether it does, as the end of the line that prints it.
#pragma once

#include <cstdio>
#include <string>

namespace espalier::benchmarks {

// "(goal: at least 80 %, met)". The unit follows the number and may be empty.
inline std::string GoalText(const char* direction, double goal, const char* unit, bool met) {
  char text[96];
  std::snprintf(text, sizeof(text), "(goal: %s %g%s, %s)", direction, goal, unit, met ? "met" : "missed");
  return text;
}

inline std::string AtLeast(double goal, double value, const char* unit) {
  return GoalText("at least", goal, unit, value >= goal);
}

inline std::string AtMost(double goal, double value, const char* unit) {
  return GoalText("at most", goal, unit, value <= goal);
}

}  // namespace espalier::benchmarks
