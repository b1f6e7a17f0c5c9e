// Each entry of the field table becomes the schema of its value (MakeItemSchema, MakeList) and is inserted at its path;
// objects stand before their fields in the table. Afterwards AddDefaultsOfObjects computes the defaults of objects.
#include "operator/schema/field_schema.h"

#include <limits>

#include "services/base/check.h"
#include "services/job/fields/field_table.h"

namespace espalier::ctl::schema {
namespace {

using job::FieldSpec;
using job::FieldType;

constexpr char kNamePattern[] = "[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}";
constexpr char kQuantityPattern[] = R"(^[0-9]+(\.[0-9]+)?(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$)";
constexpr char kMemorySizePattern[] = "^[1-9][0-9]*(k|M|G|T|Ki|Mi|Gi|Ti)?$";

OrderedJson Text(size_t max_length) { return {{"type", "string"}, {"maxLength", max_length}}; }

OrderedJson TextLike(const std::string& pattern, size_t max_length) {
  OrderedJson schema = Text(max_length);
  schema["pattern"] = pattern;
  return schema;
}

OrderedJson Integer(const FieldSpec& field) {
  const bool is_small = field.maximum_integer <= std::numeric_limits<int32_t>::max();
  OrderedJson schema = {
      {"type", "integer"}, {"format", is_small ? "int32" : "int64"}, {"minimum", field.minimum_integer}};
  // The largest int64 is left out as a bound: API servers read bounds as doubles, which cannot represent it, and
  // `format` implies it.
  if (field.maximum_integer < std::numeric_limits<int64_t>::max()) schema["maximum"] = field.maximum_integer;
  return schema;
}

OrderedJson Number(const FieldSpec& field) {
  OrderedJson schema = {{"type", "number"}, {"minimum", field.minimum}, {"maximum", field.maximum}};
  if (field.above_minimum) schema["exclusiveMinimum"] = true;
  if (field.below_maximum) schema["exclusiveMaximum"] = true;
  return schema;
}

OrderedJson Quantity() {
  return {{"anyOf", {{{"type", "integer"}}, {{"type", "string"}}}},
          {"x-kubernetes-int-or-string", true},
          {"pattern", kQuantityPattern},
          {"minimum", 0},
          {"maxLength", 64}};
}

OrderedJson MemorySize() {
  return {{"anyOf", {{{"type", "integer"}}, {{"type", "string"}}}},
          {"x-kubernetes-int-or-string", true},
          {"pattern", kMemorySizePattern},
          {"minimum", 1},
          {"maxLength", 64}};
}

OrderedJson MakeMap(OrderedJson values, size_t max_entries) {
  return {{"type", "object"}, {"maxProperties", max_entries}, {"additionalProperties", std::move(values)}};
}

// Returns the schema of the field, or of one item if the field is a list.
OrderedJson MakeItemSchema(const FieldSpec& field) {
  switch (field.type) {
    case FieldType::kObject: return {{"type", "object"}};
    case FieldType::kFreeObject: return {{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}};
    case FieldType::kString: return Text(field.max_length);
    case FieldType::kName: return TextLike("^" + std::string(kNamePattern) + "$", 128);
    case FieldType::kEdgeType: {
      const std::string name = kNamePattern;
      return TextLike("^" + name + "(:" + name + ":" + name + ")?$", 3 * 128 + 2);
    }
    case FieldType::kPluginItem: {
      const std::string name = kNamePattern;
      return TextLike("^" + name + "/" + name + "$", 2 * 128 + 1);
    }
    case FieldType::kJobName: return Text(40);
    case FieldType::kUri:
    case FieldType::kEndpoint: return {{"type", "string"}, {"minLength", 1}, {"maxLength", field.max_length}};
    case FieldType::kObjectName: return TextLike("^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$", 253);
    case FieldType::kEnum: return {{"type", "string"}, {"enum", field.values}};
    case FieldType::kInteger: return Integer(field);
    case FieldType::kNumber: return Number(field);
    case FieldType::kBool: return {{"type", "boolean"}};
    case FieldType::kMemorySize: return MemorySize();
    case FieldType::kStringMap: return MakeMap(Text(field.max_length), field.maximum_items);
    case FieldType::kQuantities: return MakeMap(Quantity(), field.maximum_items);
  }
  return {};
}

OrderedJson MakeList(const FieldSpec& field) {
  OrderedJson schema = {{"type", "array"}, {"maxItems", field.maximum_items}};
  if (field.minimum_items > 0) schema["minItems"] = field.minimum_items;
  if (!field.list_key.empty()) {
    schema["x-kubernetes-list-type"] = "map";
    schema["x-kubernetes-list-map-keys"] = {field.list_key};
  } else {
    schema["x-kubernetes-list-type"] = field.type == FieldType::kEnum ? "set" : "atomic";
  }
  schema["items"] = MakeItemSchema(field);
  return schema;
}

// Returns the description, with the range, format and default, because `kubectl explain` does not print those.
std::string MakeDescription(const FieldSpec& field) {
  const bool is_object = field.type == FieldType::kObject || field.type == FieldType::kFreeObject;
  std::string details = is_object ? "" : DescribeExpected(field);
  if (field.required) details += std::string(details.empty() ? "" : "; ") + "required";
  if (!field.default_json.empty()) details += (details.empty() ? "default " : "; default ") + field.default_json;
  return details.empty() ? field.meaning : field.meaning + " (" + details + ")";
}

OrderedJson MakeSchema(const FieldSpec& field) {
  OrderedJson schema = {{"description", MakeDescription(field)}};
  schema.update(field.is_list ? MakeList(field) : MakeItemSchema(field));
  if (!field.default_json.empty()) schema["default"] = OrderedJson::parse(field.default_json);
  return schema;
}

// Returns true for the fields that the API server defines (apiVersion, kind, metadata). Their schema is in Header().
bool IsHeaderField(const std::string& path) { return !path.starts_with("spec"); }

OrderedJson Header() {
  return {{"type", "object"},
          {"description", "A job of distributed training of a graph neural network."},
          {"required", {"spec"}},
          {"properties",
           {{"apiVersion", {{"type", "string"}}},
            {"kind", {{"type", "string"}}},
            {"metadata", {{"type", "object"}, {"properties", {{"name", {{"type", "string"}}}}}}}}}};
}

void Insert(const FieldSpec& field, OrderedJson* document) {
  const size_t dot = field.path.rfind('.');
  OrderedJson* object = dot == std::string::npos ? document : FindField(document, field.path.substr(0, dot));
  ESPALIER_CHECK(object != nullptr) << field.path << " is listed before its parent";
  const std::string name = dot == std::string::npos ? field.path : field.path.substr(dot + 1);
  if (field.required && object != document) (*object)["required"].push_back(name);
  (*object)["properties"][name] = MakeSchema(field);
}

// Gives each object without required fields a default, made of the defaults of its fields, as
// services/job/checks/check_fields.cc does: an API server applies the defaults of fields only if their object is
// present. The default of an object contains those of nested objects too: when the definition is installed, an API
// server checks each default against the rules without filling in the defaults of fields.
void AddDefaultsOfObjects(OrderedJson* schema) {
  if (schema->contains("items")) AddDefaultsOfObjects(&schema->at("items"));
  if (!schema->contains("properties")) return;
  OrderedJson defaults = OrderedJson::object();
  for (auto& [name, field] : schema->at("properties").items()) {
    AddDefaultsOfObjects(&field);
    if (field.contains("default")) defaults[name] = field.at("default");
  }
  if (!defaults.empty() && !schema->contains("required")) (*schema)["default"] = std::move(defaults);
}

}  // namespace

OrderedJson DocumentSchema() {
  OrderedJson document = Header();
  for (const FieldSpec& field : job::FieldTable()) {
    if (!IsHeaderField(field.path)) Insert(field, &document);
  }
  AddDefaultsOfObjects(&document);
  return document;
}

OrderedJson* FindField(OrderedJson* document_schema, const std::string& path) {
  OrderedJson* schema = document_schema;
  for (size_t begin = 0; begin < path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    std::string name = path.substr(begin, end - begin);
    const bool is_item = name.ends_with("[]");
    if (is_item) name.resize(name.size() - 2);
    if (!schema->contains("properties") || !schema->at("properties").contains(name)) return nullptr;
    schema = &schema->at("properties").at(name);
    if (is_item) {
      if (!schema->contains("items")) return nullptr;
      schema = &schema->at("items");
    }
    begin = end + 1;
  }
  return schema;
}

}  // namespace espalier::ctl::schema
