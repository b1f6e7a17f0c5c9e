#include "services/job/checks/check_rules.h"

#include "services/job/text/document_places.h"

namespace espalier::job {
namespace {

std::string AppendField(const std::string& at, const std::string& field) {
  return field.empty() ? at : at + "." + field;
}

}  // namespace

std::string RuleViolation::Path() const { return AppendField(at, finding.field.empty() ? rule->field : finding.field); }

std::string RuleViolation::PathInCel() const { return AppendField(at, rule->field); }

std::string RuleViolation::Message() const {
  const bool is_missing = rule->is_required && !rule->field.empty();
  return (is_missing ? "is missing: " : "") + rule->message + finding.detail;
}

std::vector<RuleViolation> FindRuleViolations(const RuleDocument& document, ReadBy read_by) {
  std::vector<RuleViolation> violations;
  for (const Rule& rule : DocumentRules()) {
    if (!rule.check || (rule.on_cluster_only && read_by != ReadBy::kOperator)) continue;
    rule.check(document, rule.at, [&](const std::string& at, RuleFinding finding) {
      violations.push_back({&rule, at, std::move(finding)});
    });
  }
  return violations;
}

void CheckRules(const DistTraining& job, const CheckedDocument& document, ReadBy read_by, Violations* violations) {
  for (const RuleViolation& violation : FindRuleViolations({job, document.values}, read_by)) {
    const std::string path = violation.Path();
    violations->Add(FindPosition(document.positions, path), path, violation.Message());
  }
}

std::vector<std::pair<std::string, std::string>> CheckPartitions(const Partitions& partitions) {
  DistTraining job;
  job.has_training = false;
  job.graph.partitions = partitions;
  const nlohmann::ordered_json no_values = nlohmann::ordered_json::object();
  std::vector<std::pair<std::string, std::string>> conflicts;
  for (const RuleViolation& violation : FindRuleViolations({job, no_values}, ReadBy::kRunOrRole)) {
    if (violation.rule->at != "spec.graph.partitions") continue;
    conflicts.emplace_back(violation.rule->field, violation.Message());
  }
  return conflicts;
}

}  // namespace espalier::job
