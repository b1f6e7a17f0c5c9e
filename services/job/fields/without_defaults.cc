#include "services/job/fields/without_defaults.h"

#include <nlohmann/json.hpp>

#include "services/job/fields/field_tree.h"

namespace espalier::job {
namespace {

using Json = nlohmann::ordered_json;

bool HasDefault(const FieldSpec& spec) { return !spec.default_json.empty(); }

void RemoveDefaults(const TableNode& table, Json* object);

// Returns whether parsing a document without the field gives the field this value. If the value is an object, the
// caller has already removed those of its fields that have their defaults.
bool IsDefault(const TableNode& field, const Json& value) {
  if (HasDefault(*field.spec)) return value == Json::parse(field.spec->default_json);
  return value.is_object() && value.empty() && HasObjectDefault(field, HasDefault);
}

void RemoveDefaultsOfValue(const TableNode& field, Json* value) {
  if (field.spec->type != FieldType::kObject) return;
  if (value->is_object()) return RemoveDefaults(field, value);
  for (Json& item : *value) RemoveDefaults(field, &item);
}

void RemoveDefaults(const TableNode& table, Json* object) {
  for (const TableNode& field : table.fields) {
    const auto found = object->find(field.name);
    if (found == object->end()) continue;
    RemoveDefaultsOfValue(field, &*found);
    if (IsDefault(field, *found)) object->erase(found);
  }
}

}  // namespace

std::string WithoutDefaults(const std::string& document_json) {
  Json document = Json::parse(document_json);
  RemoveDefaults(TableTree(), &document);
  return document.dump();
}

}  // namespace espalier::job
