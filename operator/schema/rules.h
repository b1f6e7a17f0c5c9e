// Validation rules in CEL, which an API server evaluates: relations among fields, formats of URIs and names, and
// immutability, which a structural schema cannot express. Relations are those of services/job/rules/document_rules.h,
// which the parser evaluates too. Some checks (of templates, of the size of a field as JSON) cannot be expressed in
// CEL, and some (no feature occurs twice in a list) cost too much. The operator does these checks; if one fails, it
// sets Accepted=False.
#pragma once

#include <string>
#include <vector>

#include "operator/schema/field_schema.h"

namespace espalier::ctl::schema {

struct Rule {
  std::string at;  // field whose value is `self`, for example "spec.training.inputs[]"; "": the whole object
  std::string cel;
  std::string message;
  std::string field;  // field below `at` that the error names, for example "tls.secretName"; "": `at` itself
  std::string reason = "FieldValueInvalid";
};

std::vector<Rule> RelationRules();      // those of job::DocumentRules() that CEL can express
std::vector<Rule> FieldRules();         // URIs, addresses and names
std::vector<Rule> ImmutabilityRules();  // on changes of a document (immutability_rules.cc)

// Adds each rule to x-kubernetes-validations of its field.
void AddRules(const std::vector<Rule>& rules, OrderedJson* document_schema);

}  // namespace espalier::ctl::schema
