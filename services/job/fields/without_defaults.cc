#include "services/job/fields/without_defaults.h"

#include <nlohmann/json.hpp>

#include "services/job/fields/field_tree.h"

namespace espalier::job {
namespace {

using Json = nlohmann::ordered_json;

bool HasDefault(const FieldSpec& spec) { return !spec.default_json.empty(); }

void Shorten(const TableNode& table, Json* object);

bool IsPutBack(const TableNode& field, const Json& value) {
  if (HasDefault(*field.spec)) return value == Json::parse(field.spec->default_json);
  return value.is_object() && value.empty() && HasObjectDefault(field, HasDefault);
}

void ShortenValue(const TableNode& field, Json* value) {
  if (field.spec->type != FieldType::kObject) return;
  if (value->is_object()) return Shorten(field, value);
  for (Json& item : *value) Shorten(field, &item);
}

void Shorten(const TableNode& table, Json* object) {
  for (const TableNode& field : table.fields) {
    const auto found = object->find(field.name);
    if (found == object->end()) continue;
    ShortenValue(field, &*found);
    if (IsPutBack(field, *found)) object->erase(found);
  }
}

}  // namespace

std::string WithoutDefaults(const std::string& document_json) {
  Json document = Json::parse(document_json);
  Shorten(TableTree(), &document);
  return document.dump();
}

}  // namespace espalier::job
