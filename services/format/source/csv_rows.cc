#include "services/format/source/csv_rows.h"

namespace espalier::format {

std::string Where(const std::string& path, uint64_t line_number) { return path + ":" + std::to_string(line_number); }

bool IsBlank(std::string_view line) { return line.find_first_not_of(' ') == std::string_view::npos; }

Status EmptyLineError(const std::string& path, uint64_t line_number) {
  return InvalidArgument(Where(path, line_number) + " follows an empty line: expected empty lines only at the end");
}

Status RowChecker::CheckEnd() const {
  return !expected_ || num_rows_ == *expected_ ? Status() : RowCountError(std::to_string(num_rows_));
}

Status RowChecker::RowCountError(const std::string& found) const {
  return InvalidArgument(path_ + " has " + found + " rows: expected " + std::to_string(*expected_));
}

}  // namespace espalier::format
