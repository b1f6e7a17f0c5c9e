// The width of a row is counted in characters, so the input must be a result of Printable. WrapLine breaks at the last
// space that fits. If the word after that space is longer than a row, it breaks inside the word instead, so that no row
// is nearly empty.
#include "operator/kubectl/text/fit.h"

#include <algorithm>
#include <cstddef>

#include "operator/kubectl/text/printable.h"

namespace espalier::ctl::text {
namespace {

// Returns the first and the last lines with "…" between them, `count` lines in all.
std::vector<std::string> FirstAndLast(std::vector<std::string> lines, size_t count) {
  if (lines.size() <= count) return lines;
  const size_t first = count / 2, last = count - first - 1;
  std::vector<std::string> chosen(lines.begin(), lines.begin() + static_cast<ptrdiff_t>(first));
  chosen.emplace_back("…");
  chosen.insert(chosen.end(), lines.end() - static_cast<ptrdiff_t>(last), lines.end());
  return chosen;
}

std::string_view FirstWord(std::string_view text) { return text.substr(0, text.find(' ')); }

}  // namespace

std::vector<std::string> SplitLines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<std::string> WrapLine(std::string line, size_t width, size_t rows) {
  std::replace(line.begin(), line.end(), '\t', ' ');
  std::vector<std::string> wrapped;
  std::string_view rest = line;
  while (wrapped.size() + 1 < rows && DisplayWidth(rest) > width) {
    const std::string_view full = FirstCharacters(rest, width);
    // The space may be the first character that does not fit.
    const size_t space = rest.substr(0, full.size() + 1).rfind(' ');
    const bool is_between_words = space != std::string_view::npos && rest.find_first_not_of(' ') < space &&
                                  (space == full.size() || DisplayWidth(FirstWord(rest.substr(space + 1))) <= width);
    wrapped.emplace_back(is_between_words ? rest.substr(0, space) : full);
    rest.remove_prefix(is_between_words ? space + 1 : full.size());
  }
  wrapped.push_back(CutToWidth(std::string(rest), width));
  return wrapped;
}

std::string FitText(std::string_view text, size_t width, size_t rows) {
  const std::vector<std::string> lines = FirstAndLast(SplitLines(text), rows);
  std::vector<size_t> wanted;
  for (const std::string& line : lines) wanted.push_back(WrapLine(line, width, rows).size());
  const std::vector<size_t> given = ShareRows(wanted, rows);
  std::string fitting;
  for (size_t i = 0; i < lines.size(); ++i) {
    for (const std::string& row : WrapLine(lines[i], width, given[i])) fitting += row + "\n";
  }
  if (!fitting.empty()) fitting.pop_back();
  return fitting;
}

std::vector<std::string> LastRows(const std::vector<std::string>& lines, size_t width, size_t rows) {
  std::vector<std::string> last;
  for (auto line = lines.rbegin(); line != lines.rend() && last.size() < rows; ++line) {
    const std::vector<std::string> wrapped = WrapLine(*line, width, std::min(kMaxRowsPerLine, rows - last.size()));
    last.insert(last.begin(), wrapped.begin(), wrapped.end());
  }
  return last;
}

std::vector<size_t> ShareRows(const std::vector<size_t>& wanted, size_t rows) {
  std::vector<size_t> given(wanted.size(), 0);
  for (bool has_given_any = true; has_given_any && rows > 0;) {
    has_given_any = false;
    for (size_t i = 0; i < wanted.size() && rows > 0; ++i) {
      if (given[i] == wanted[i]) continue;
      ++given[i];
      --rows;
      has_given_any = true;
    }
  }
  return given;
}

}  // namespace espalier::ctl::text
