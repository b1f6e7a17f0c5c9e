// Text from the cluster (names, messages, logs) made harmless: whoever writes a pod's log or a condition shall not be
// able to move the cursor, hide lines or set the title of the terminal of whoever reads it.
#pragma once

#include <string>
#include <string_view>

namespace espalier::ctl::text {

enum class Spacing {
  kOneLine,        // line breaks and tabs are shown as \n, \r, \t
  kKeepLinesTabs,  // newlines and tabs stay; carriage returns do not: they go back over what was printed
};

// Control characters (C0, DEL, C1), line and paragraph separators, characters that change the direction of text, and
// bytes that are no UTF-8 become visible escapes: \x1b, \u202e. Everything else stays.
std::string Printable(std::string_view text, Spacing spacing = Spacing::kOneLine);

// How many characters of a line the text takes: code points, for Printable text without combining or wide characters.
size_t DisplayWidth(std::string_view text);

// The first `count` characters, or all.
std::string_view FirstCharacters(std::string_view text, size_t count);

// The first `width` characters, the last of them "…" where something is left out.
std::string CutToWidth(const std::string& text, size_t width);

}  // namespace espalier::ctl::text
