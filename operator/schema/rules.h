// What a structural schema cannot say: relations among fields, places, and what may change, as rules in CEL that an API
// server evaluates. The first are services/job/cross_checks.cc, learning_checks.cc and operator/api/check_cluster.cc in
// another language; crds/tests/invalid runs both over the same documents. What CEL cannot see (templates), or not at
// its price (that no feature stands in a list twice), the operator refuses: Accepted=False.
#pragma once

#include <string>
#include <vector>

#include "operator/schema/field_schema.h"

namespace espalier::ctl::schema {

struct Rule {
  std::string at;  // the field whose value is `self`: "spec.training.inputs[]"; "": the whole object
  std::string cel;
  std::string message;
  std::string field;  // below `at`, where the message points: "tls.secretName"; "": at `at`
  std::string reason = "FieldValueInvalid";
};

std::vector<Rule> RelationRules();      // among fields of one document
std::vector<Rule> PlaceRules();         // URIs, addresses and names
std::vector<Rule> ImmutabilityRules();  // between a document and the one before it (immutability_rules.cc)

// Each into x-kubernetes-validations of its field.
void AddRules(const std::vector<Rule>& rules, OrderedJson* document_schema);

}  // namespace espalier::ctl::schema
