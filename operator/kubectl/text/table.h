// Columns as kubectl prints them.
#pragma once

#include <string>
#include <vector>

namespace espalier::ctl::text {

class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}

  // As many cells as the header has. Cells may be anything: they are made Printable.
  void Add(std::vector<std::string> row);
  bool empty() const { return rows_.size() == 1; }
  // One line a row, `indent` spaces before each, columns three spaces apart, nothing behind the last.
  std::string Text(size_t indent = 0) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace espalier::ctl::text
