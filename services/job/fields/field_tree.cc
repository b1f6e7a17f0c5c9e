#include "services/job/fields/field_tree.h"

#include <algorithm>

#include "services/base/check.h"

namespace espalier::job {
namespace {

void Insert(TableNode* root, const FieldSpec& field) {
  TableNode* parent = root;
  std::string rest = field.path;
  for (size_t dot = rest.find('.'); dot != std::string::npos; dot = rest.find('.')) {
    std::string name = rest.substr(0, dot);
    if (name.ends_with("[]")) name.resize(name.size() - 2);
    rest = rest.substr(dot + 1);
    const auto found =
        std::find_if(parent->fields.begin(), parent->fields.end(), [&](const TableNode& f) { return f.name == name; });
    ESPALIER_CHECK(found != parent->fields.end()) << field.path << " must come after its parent in the field table";
    parent = &*found;
  }
  parent->fields.push_back({&field, rest, {}});
}

}  // namespace

const TableNode& TableTree() {
  static const TableNode* const tree = [] {
    static const FieldSpec document;  // an object without a path
    auto* root = new TableNode{&document, "", {}};
    for (const FieldSpec& field : FieldTable()) Insert(root, field);
    return root;
  }();
  return *tree;
}

}  // namespace espalier::job
