// Byte order marks. Some editors and spreadsheets write one at the start of a UTF-8 file; it is not part of the text.
// Readers of plain text skip it with this header. yaml-cpp and nlohmann-json skip it in YAML and JSON.
#pragma once

#include <string_view>

namespace espalier {

inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Returns `text` without a leading UTF-8 byte order mark. The result refers to the same bytes.
inline std::string_view WithoutByteOrderMark(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text;
}

// Returns whether `text` starts with a UTF-16 byte order mark of either byte order. Readers reject such text with an
// error that ends with kUtf16Remedy.
inline bool IsUtf16(std::string_view text) { return text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"); }
inline constexpr char kUtf16Remedy[] = "is text in UTF-16: expected UTF-8; convert it with iconv -f UTF-16 -t UTF-8";

}  // namespace espalier
