// The field table as a tree, for looking up the fields of an object by name.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "services/job/fields/field_table.h"

namespace espalier::job {

struct TableNode {
  const FieldSpec* spec = nullptr;  // never null
  std::string name;                 // without "[]"
  std::vector<TableNode> fields;

  // Returns the field of this object with the given name, or nullptr.
  const TableNode* Find(const std::string& field) const {
    const auto found = std::find_if(fields.begin(), fields.end(), [&](const TableNode& f) { return f.name == field; });
    return found == fields.end() ? nullptr : &*found;
  }
};

// Returns the root, which is the document itself: an object without a name. Thread-safe.
const TableNode& TableTree();

// Returns whether an object that is missing in the document is replaced by one with the defaults of its fields. This is
// the case if no field of the object is required, and at least one field has a default (has_default(spec)) or is itself
// such an object.
template <class HasDefault>
bool HasObjectDefault(const TableNode& table, const HasDefault& has_default) {
  if (table.spec->type != FieldType::kObject || table.spec->is_list) return false;
  bool any = false;
  for (const TableNode& field : table.fields) {
    if (field.spec->required) return false;
    any = any || has_default(*field.spec) || HasObjectDefault(field, has_default);
  }
  return any;
}

}  // namespace espalier::job
