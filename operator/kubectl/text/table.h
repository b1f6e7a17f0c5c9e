// A table with columns as kubectl prints them.
#pragma once

#include <string>
#include <vector>

namespace espalier::ctl::text {

class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}

  // Adds a row with as many cells as the header has. Cells may hold any bytes; Printable (printable.h) escapes them.
  void Add(std::vector<std::string> row);
  bool empty() const { return rows_.size() == 1; }
  // Returns one line per row: `indent` spaces, columns three spaces apart, no trailing spaces.
  std::string Text(size_t indent = 0) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace espalier::ctl::text
