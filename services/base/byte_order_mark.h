// UTF-8's byte order mark, which some editors and spreadsheets write in front of a text, is no part of the text.
// Readers of plain text skip it by this header; YAML and JSON go through yaml-cpp and nlohmann-json, which skip it
// themselves.
#pragma once

#include <string_view>

namespace espalier {

inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Returns the text behind a byte order mark, or all of a text without one.
inline std::string_view WithoutByteOrderMark(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text;
}

// Whether a text begins with UTF-16's byte order mark, of either byte order: such text is refused with the remedy.
inline bool IsUtf16(std::string_view text) { return text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"); }
inline constexpr char kUtf16Remedy[] = "is text in UTF-16: expected UTF-8; convert it with iconv -f UTF-16 -t UTF-8";

}  // namespace espalier
