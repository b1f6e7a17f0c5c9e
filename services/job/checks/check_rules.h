// Evaluates the rules of a document (document_rules.h).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "services/job/checks/check_fields.h"
#include "services/job/read_by.h"
#include "services/job/rules/document_rules.h"

namespace espalier::job {

// A rule that a document violates.
struct RuleViolation {
  const Rule* rule = nullptr;  // in DocumentRules()
  std::string at;              // Rule::at with the indices of list items: "spec.training.inputs[1]"
  RuleFinding finding;

  // Returns the path of the field that is wrong.
  std::string Path() const;
  // Returns the path that an API server reports, which ends with Rule::field. If RuleFinding::field is not empty
  // (as for an item of a list), Path() ends with that field instead.
  std::string PathInCel() const;
  // Returns the parser's message: Rule::message followed by RuleFinding::detail; "is missing: " precedes both if
  // Rule::is_required is set and Rule::field is not empty.
  std::string Message() const;
};

// Returns all violations, in the order of DocumentRules().
std::vector<RuleViolation> FindRuleViolations(const RuleDocument& document, ReadBy read_by);

// Adds all violations of rules, several for a rule that several list items violate, each at the position of the field
// that is wrong. `job` is `document` as a DistTraining.
void CheckRules(const DistTraining& job, const CheckedDocument& document, ReadBy read_by, Violations* violations);

// Returns the violations of the rules whose Rule::at is "spec.graph.partitions", each as (field name, error message).
std::vector<std::pair<std::string, std::string>> CheckPartitions(const Partitions& partitions);

}  // namespace espalier::job
