#include "services/graph/label_columns.h"

#include <algorithm>
#include <string_view>

#include "services/base/ascii.h"

namespace espalier::graph {
namespace {

bool IsLabelName(const std::string& column) {
  const std::string name = ToLowerAscii(column);
  if (name == "y") return true;
  for (const std::string_view word : {"label", "labels"}) {
    if (name == word) return true;
    if (!name.ends_with(word)) continue;
    const char before = name[name.size() - word.size() - 1];
    if (before == '-' || before == '_' || before == '.') return true;
  }
  return false;
}

}  // namespace

bool LabelColumns::MayLackValues(const std::string& column) const {
  if (std::find(complete.begin(), complete.end(), column) != complete.end()) return false;
  return std::find(labels.begin(), labels.end(), column) != labels.end() || IsLabelName(column);
}

}  // namespace espalier::graph
