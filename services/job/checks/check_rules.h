// Evaluates the rules of a document (document_rules.h).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "services/job/checks/check_fields.h"
#include "services/job/rules/document_rules.h"
#include "services/job/runs_on.h"

namespace espalier::job {

// A rule that a document violates.
struct RuleViolation {
  const Rule* rule = nullptr;  // in DocumentRules()
  std::string at;              // path of the value at Rule::at, with indices
  RuleFinding finding;

  // Returns the path of the field that is wrong.
  std::string Path() const;
  // Returns the path that an API server reports: that of Rule::field. It lacks RuleFinding::field (for example an item
  // of a list), which only Path() includes.
  std::string PathInCel() const;
  // Returns the parser's message: that of the rule, with what was found.
  std::string Message() const;
};

// Returns all violations, in the order of DocumentRules().
std::vector<RuleViolation> FindRuleViolations(const RuleDocument& document, RunsOn runs_on);

// Adds a violation for each rule that the document violates, at the position of its field. `job` is the checked
// document as a value.
void CheckRules(const DistTraining& job, const CheckedDocument& document, RunsOn runs_on, Violations* violations);

// Returns the violations of the rules at spec.graph.partitions, each as (field name, error message).
std::vector<std::pair<std::string, std::string>> CheckPartitions(const Partitions& partitions);

}  // namespace espalier::job
