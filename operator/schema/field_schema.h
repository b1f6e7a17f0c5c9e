// The document's structural schema (OpenAPI v3 as CustomResourceDefinitions take it), made from the table that the
// parser reads (services/job/field_table.h), so that the two cannot differ.
//
//   FieldSpec      schema
//   required       in its object's `required`
//   default_json   `default`; an object that holds defaults and requires nothing has them as its own default, as the
//                  parser fills it in
//   list_key       list-map keyed by it; other lists of objects and of names (whose order counts) are atomic, lists of
//                  enum values are sets
#pragma once

#include <nlohmann/json.hpp>

namespace espalier::ctl::schema {

using OrderedJson = nlohmann::ordered_json;  // printed as written

// Of a whole DistTraining but its status; without rules.
OrderedJson DocumentSchema();

// The schema of a field: "spec.training.inputs[].features"; null where there is none.
OrderedJson* FindField(OrderedJson* document_schema, const std::string& path);

}  // namespace espalier::ctl::schema
