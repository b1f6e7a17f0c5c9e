#include "services/format/source/csv_rows.h"

namespace espalier::format {

std::string Where(const std::string& path, uint64_t line_number) { return path + ":" + std::to_string(line_number); }

bool IsBlank(std::string_view line) { return line.find_first_not_of(' ') == std::string_view::npos; }

Status EmptyLineBefore(const std::string& path, uint64_t line_number) {
  return InvalidArgument(path + ": an empty line before " + Where(path, line_number));
}

Status RowOrder::AtEnd() const {
  return !expected_ || num_rows_ == *expected_ ? Status() : RowCountError(std::to_string(num_rows_));
}

Status RowOrder::RowCountError(const std::string& has) const {
  return InvalidArgument(path_ + " has " + has + " rows: expected " + std::to_string(*expected_));
}

}  // namespace espalier::format
