// Letters without a locale: what `std::tolower` does to a byte depends on one.
#pragma once

#include <string>

namespace espalier {

// Returns `text` with A to Z replaced by a to z; other bytes, those of UTF-8 among them, stay.
inline std::string ToLowerAscii(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

}  // namespace espalier
