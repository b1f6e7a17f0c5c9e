// The document's structural schema (OpenAPI v3 for CustomResourceDefinitions), made from the table that the parser uses
// (services/job/fields/field_table.h), so that schema and parser cannot differ in what the table describes.
//
//   FieldSpec      schema
//   required       in `required` of its object
//   default_json   `default`. For an object without required fields, the default consists of the defaults of its
//                  fields, as in the parser
//   list_key       list-map with this key; lists of enum values are sets, other lists are atomic
#pragma once

#include <nlohmann/json.hpp>

namespace espalier::ctl::schema {

using OrderedJson = nlohmann::ordered_json;  // printed in the order of insertion

// Returns the schema of a DistTraining without its status and without validation rules (CEL).
OrderedJson DocumentSchema();

// Returns the schema of a field, such as "spec.training.inputs[].features", or null.
OrderedJson* FindField(OrderedJson* document_schema, const std::string& path);

}  // namespace espalier::ctl::schema
