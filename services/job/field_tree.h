// The field table as a tree: an object's fields are found by name.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "services/job/field_table.h"

namespace espalier::job {

struct TableNode {
  const FieldSpec* spec = nullptr;  // never null
  std::string name;
  std::vector<TableNode> fields;

  const TableNode* Find(const std::string& field) const {
    const auto found = std::find_if(fields.begin(), fields.end(), [&](const TableNode& f) { return f.name == field; });
    return found == fields.end() ? nullptr : &*found;
  }
};

// Its root is the document, an object without a name.
const TableNode& TableTree();

// Whether an object that is left out is as good as one in which all fields are: some field has a default, by
// has_default(spec), and none is required.
template <class HasDefault>
bool StandsForDefaults(const TableNode& table, const HasDefault& has_default) {
  if (table.spec->type != FieldType::kObject || table.spec->is_list) return false;
  bool any = false;
  for (const TableNode& field : table.fields) {
    if (field.spec->required) return false;
    any = any || has_default(*field.spec) || StandsForDefaults(field, has_default);
  }
  return any;
}

}  // namespace espalier::job
