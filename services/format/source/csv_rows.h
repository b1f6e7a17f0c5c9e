// Parses the rows of a text file in independent blocks and checks the blocks in file order, such that results and
// errors are those of reading the file line by line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "services/format/source/line_blocks.h"

namespace espalier::format {

// Returns "<path>:<line>" for messages: "edge.csv.gz:17".
std::string Where(const std::string& path, uint64_t line_number);

// Returns true if a line is empty or consists of blanks. Such lines are allowed only at the end of a file, and do not
// count as rows.
bool IsBlank(std::string_view line);

// Returns the error for the row at line `line_number` that follows a blank line.
Status EmptyLineError(const std::string& path, uint64_t line_number);

// The kind of the first error of a block. An invalid row (kRow) counts as a row: if the file then has more rows than
// expected, the error for too many rows is returned instead. A row after an empty line (kEmptyLine) does not count.
enum class RowFault { kNone, kEmptyLine, kRow };

// The rows of a block up to the first error.
template <class Rows>
struct BlockRows {
  Rows rows;
  uint64_t num_rows = 0;
  uint64_t first_line = 1;
  uint64_t first_row_line = 1;  // number of the first line that is not blank
  bool blank_at_end = false;
  bool only_blanks = true;  // all lines are blank
  RowFault fault = RowFault::kNone;
  Status error;  // OK if `fault` is kNone
};

// Parses a block: calls add(line, line number, &rows), which returns a Status, for each line that is not blank. The
// initial value of the rows is `empty`. Stops at the first error.
template <class Rows, class AddRow>
BlockRows<Rows> ParseBlock(const LineBlock& block, const std::string& path, Rows empty, const AddRow& add) {
  BlockRows<Rows> part{.rows = std::move(empty), .first_line = block.first_line};
  uint64_t line_number = block.first_line;
  for (size_t at = 0; at < block.text.size(); ++line_number) {
    const std::string_view line = TakeLine(block.text, &at);
    const bool blank = IsBlank(line);
    if (part.only_blanks && !blank) part.first_row_line = line_number;
    part.only_blanks = part.only_blanks && blank;
    if (part.blank_at_end && !blank) {
      part.fault = RowFault::kEmptyLine;
      part.error = EmptyLineError(path, line_number);
      return part;
    }
    part.blank_at_end = blank;
    if (blank) continue;
    part.error = add(line, line_number, &part.rows);
    if (!part.error.ok()) {
      part.fault = RowFault::kRow;
      return part;
    }
    ++part.num_rows;
  }
  return part;
}

// Checks the number of rows of a file, and blank lines between its blocks.
class RowChecker {
 public:
  RowChecker(const std::string& path, std::optional<uint64_t> expected_rows) : path_(path), expected_(expected_rows) {}

  // Checks the next block in file order, before its rows are merged. Returns an error if its rows follow a blank line
  // of an earlier block, or if the file has more rows than expected. Does not return part.error: the caller returns it,
  // if any, after this function has returned OK.
  template <class Rows>
  Status CheckNext(const BlockRows<Rows>& part) {
    if (part.only_blanks) {
      after_blank_ = true;
      return Status();
    }
    if (after_blank_) return EmptyLineError(path_, part.first_row_line);
    after_blank_ = part.blank_at_end;
    num_rows_ += part.num_rows;
    const uint64_t counted = num_rows_ + (part.fault == RowFault::kRow ? 1 : 0);
    return expected_ && counted > *expected_ ? RowCountError("more than " + std::to_string(*expected_)) : Status();
  }

  // Returns an error unless the number of rows, after the last block, is the expected one.
  Status CheckEnd() const;

 private:
  Status RowCountError(const std::string& found) const;

  const std::string& path_;  // must outlive this object
  const std::optional<uint64_t> expected_;
  uint64_t num_rows_ = 0;
  bool after_blank_ = false;  // the blocks so far end with a blank line
};

}  // namespace espalier::format
