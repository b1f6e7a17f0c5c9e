// Makes text from the cluster (names, messages, logs) safe for a terminal: the author of a log or a condition must not
// be able to move the reader's cursor, hide lines or set the title of the terminal.
#pragma once

#include <string>
#include <string_view>

namespace espalier::ctl::text {

enum class Spacing {
  kOneLine,        // line breaks and tabs become \n, \r, \t
  kKeepLinesTabs,  // newlines and tabs stay; carriage returns are escaped: they would overwrite printed text
};

// Returns the text with visible escapes (\x1b, \u202e) in place of control characters (C0, DEL, C1), line and paragraph
// separators, characters that change the direction of text, U+FEFF, and bytes that are not UTF-8.
std::string Printable(std::string_view text, Spacing spacing = Spacing::kOneLine);

// Returns the number of code points. For Printable text without combining or wide characters, it is the number of
// terminal columns.
size_t DisplayWidth(std::string_view text);

// Returns the first `count` characters, or all if there are fewer.
std::string_view FirstCharacters(std::string_view text, size_t count);

// Returns at most `width` characters. The last one is "…" if the text is cut.
std::string CutToWidth(const std::string& text, size_t width);

}  // namespace espalier::ctl::text
