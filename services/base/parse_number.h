// Parses numbers in configuration, file names and response headers.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace espalier {

// Parses all of `text` as one number of T, an integer or floating-point type, in the syntax of std::from_chars:
// decimal, without white space or leading '+', and with leading '-' only for a signed T; for a floating-point T also
// "inf" and "nan". Returns nullopt if `text` is empty, has other characters, or is out of the range of T.
template <class T>
std::optional<T> ParseNumber(std::string_view text) {
  T number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  return error == std::errc() && end == last ? std::optional<T>(number) : std::nullopt;
}

}  // namespace espalier
