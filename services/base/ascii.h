// Classes and case of ASCII characters, independent of the locale, unlike std::tolower.
#pragma once

#include <string>

namespace espalier {

// Returns whether `c` is one of A-Z a-z 0-9 and '_'.
inline bool IsWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Returns the value of a hexadecimal digit, in upper or lower case; -1 for any other character.
inline int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Returns `text` with A to Z replaced by a to z. All other bytes, UTF-8 sequences included, are unchanged.
inline std::string ToLowerAscii(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

}  // namespace espalier
