// Fits printable text into the rows and columns of a terminal. "…" marks an omission.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace espalier::ctl::text {

// The most rows that LastRows gives to one line. Three rows usually show a JSON log line up to the end of its message,
// which follows the time, the level and the role.
inline constexpr size_t kMaxRowsPerLine = 3;

// Returns the lines without their newlines; an empty text has no lines.
std::vector<std::string> SplitLines(std::string_view text);

// Wraps one line into at most `rows` rows of at most `width` characters; both must be positive. Breaks between words,
// and within a word only if it is longer than a row. Tabs become spaces.
std::vector<std::string> WrapLine(std::string line, size_t width, size_t rows);

// Fits the text into at most `rows` rows, which must be at least 2, and shows the beginning of each line. If there are
// more lines than rows, shows only the first and the last lines.
std::string FitText(std::string_view text, size_t width, size_t rows);

// Returns the rows of the last lines, wrapped into at most kMaxRowsPerLine rows each: as many lines as fit into `rows`
// rows. The first of them may be shortened to the rows that are left.
std::vector<std::string> LastRows(const std::vector<std::string>& lines, size_t width, size_t rows);

// Returns the number of rows for each entry i: at most wanted[i], and at most `rows` for all entries together. Rows are
// assigned one at a time to the entries in turn. Example: wanted {1, 15, 8} and 10 rows give {1, 5, 4}.
std::vector<size_t> ShareRows(const std::vector<size_t>& wanted, size_t rows);

}  // namespace espalier::ctl::text
