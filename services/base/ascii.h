// ASCII case conversion that does not depend on the locale, unlike std::tolower.
#pragma once

#include <string>

namespace espalier {

// Returns `text` with A to Z replaced by a to z. All other bytes, UTF-8 sequences included, are unchanged.
inline std::string ToLowerAscii(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

}  // namespace espalier
