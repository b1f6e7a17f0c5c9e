// Rows of a text file in blocks: each block parsed by itself, the blocks joined so that the outcome, errors included,
// is that of reading line by line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "services/format/source/line_blocks.h"

namespace espalier::format {

// "edge.csv.gz:17": for messages.
std::string Where(const std::string& path, uint64_t line_number);

// Whether a line has nothing but blanks: such lines at the end of a file are no rows.
bool IsBlank(std::string_view line);

// The error of a row that follows a blank line.
Status EmptyLineBefore(const std::string& path, uint64_t line_number);

// What goes wrong in a row of a block. Where the file already has as many rows as it may have, a bad row is one too
// many first of all, whatever stands in it; an empty line before it is found earlier.
enum class RowFault { kNone, kEmptyLine, kRow };

// A block's rows, up to the first that is wrong.
template <class Rows>
struct BlockRows {
  Rows rows;
  uint64_t num_rows = 0;
  uint64_t first_line = 1;
  uint64_t first_row_line = 1;  // of the first line that is not blank
  bool blank_at_end = false;
  bool only_blanks = true;  // no line but blank ones
  RowFault fault = RowFault::kNone;
  Status error;  // of the fault
};

// add(line, line number, &rows) for each line of a block; blank lines at the end of the file are no rows.
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
      part.error = EmptyLineBefore(path, line_number);
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

// The rows of a file in its order, each checked as if it were read line by line.
class RowOrder {
 public:
  RowOrder(const std::string& path, std::optional<uint64_t> expected_rows) : path_(path), expected_(expected_rows) {}

  // Before the block's rows are taken.
  template <class Rows>
  Status Admit(const BlockRows<Rows>& part) {
    if (part.only_blanks) {
      blank_ = true;
      return Status();
    }
    if (blank_) return EmptyLineBefore(path_, part.first_row_line);
    blank_ = part.blank_at_end;
    num_rows_ += part.num_rows;
    const uint64_t wanted = num_rows_ + (part.fault == RowFault::kRow ? 1 : 0);
    return expected_ && wanted > *expected_ ? RowCountError("more") : Status();
  }

  // After the last block: as many rows as expected?
  Status AtEnd() const;

 private:
  Status RowCountError(const std::string& has) const;

  const std::string& path_;  // outlives this
  const std::optional<uint64_t> expected_;
  uint64_t num_rows_ = 0;
  bool blank_ = false;
};

}  // namespace espalier::format
