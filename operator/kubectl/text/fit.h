// Printable text in the rows and columns of a terminal. What is left out of a line leaves "…" there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace espalier::ctl::text {

// Of a log or a list. Lines of JSON have their message behind who has written it, and when.
inline constexpr size_t kMostRowsOfALine = 3;

// Without the newlines; none of an empty text.
std::vector<std::string> SplitLines(std::string_view text);

// One line as at most `rows` rows of at most `width` characters, both positive. Only a word that is longer than a row
// is broken. Tabs become spaces.
std::vector<std::string> WrapLine(std::string line, size_t width, size_t rows);

// Lines in at most `rows` rows, two at least: of each how it begins; of more lines than rows the first and the last.
std::string FitText(std::string_view text, size_t width, size_t rows);

// The last of the lines, as many as `rows` rows can take.
std::vector<std::string> LastRows(const std::vector<std::string>& lines, size_t width, size_t rows);

// What each gets of `rows`: what it wants where that is enough for all, else nobody more than another that is short.
// Example: {1, 15, 8} of 10 are {1, 5, 4}.
std::vector<size_t> SharedRows(const std::vector<size_t>& wanted, size_t rows);

}  // namespace espalier::ctl::text
