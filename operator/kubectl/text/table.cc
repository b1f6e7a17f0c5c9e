#include "operator/kubectl/text/table.h"

#include <algorithm>

#include "operator/kubectl/text/printable.h"
#include "services/base/check.h"

namespace espalier::ctl::text {
namespace {

constexpr size_t kBetweenColumns = 3;

}  // namespace

void Table::Add(std::vector<std::string> row) {
  ESPALIER_CHECK(row.size() == rows_.front().size())
      << "a row of " << row.size() << " cells, expected " << rows_.front().size();
  for (std::string& cell : row) cell = Printable(cell);
  rows_.push_back(std::move(row));
}

std::string Table::Text(size_t indent) const {
  std::vector<size_t> widths(rows_.front().size(), 0);
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(row[i]));
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line(indent, ' ');
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i] + std::string(widths[i] - DisplayWidth(row[i]) + kBetweenColumns, ' ');
    }
    line.resize(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace espalier::ctl::text
