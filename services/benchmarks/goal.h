// The goal of a measured ratio and whether it is met, as the end of the line that prints the ratio.
#pragma once

#include <cstdio>
#include <string>

namespace espalier::benchmarks {

// Returns "(goal: at least 80 %, met)". `unit` follows the number and may be empty.
inline std::string GoalText(const char* direction, double goal, const char* unit, bool met) {
  char text[96];
  std::snprintf(text, sizeof(text), "(goal: %s %g%s, %s)", direction, goal, unit, met ? "met" : "missed");
  return text;
}

// Returns the text of a goal that `value` meets if it is at least `goal`.
inline std::string AtLeast(double goal, double value, const char* unit) {
  return GoalText("at least", goal, unit, value >= goal);
}

// Returns the text of a goal that `value` meets if it is at most `goal`.
inline std::string AtMost(double goal, double value, const char* unit) {
  return GoalText("at most", goal, unit, value <= goal);
}

}  // namespace espalier::benchmarks
