// The table of the rules of a document: relations between fields, and formats that a type of the field table does not
// express. A row has the rule as CEL, as a C++ predicate, or as both, with one message:
//   - the parser evaluates the predicate (check_rules.h);
//   - operator/schema prints the CEL into crds/disttrainings.yaml, where an API server evaluates it.
// operator/tests/crd_live_test.cc compares the two on the documents of testing/rule_cases.h.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "services/job/dist_training.h"

namespace espalier::job {

// The document that rules are evaluated on. Both members must outlive the evaluation.
struct RuleDocument {
  const DistTraining& job;
  const nlohmann::ordered_json& values;  // the whole document with defaults, those of FillDependentDefaults included
};

// A violation of a rule.
struct RuleFinding {
  std::string field = {};   // field below Rule::at, such as "inputs[1]", if it is not Rule::field
  std::string detail = {};  // what was found; the parser appends it to the message
};

// Receives each violation with the path of the value that violates the rule: Rule::at with indices of list items.
using RuleReport = std::function<void(const std::string& at, RuleFinding finding)>;

// Evaluates a predicate on each value of the document at `at`, which is Rule::at, and reports the violations.
using RuleCheck = std::function<void(const RuleDocument& document, const std::string& at, const RuleReport& report)>;

struct Rule {
  std::string at;   // field whose value is `self`, for example "spec.training.inputs[]"
  std::string cel;  // true for a valid document with the defaults of the schema; "": CEL cannot express the rule
  std::string message;
  std::string field;             // field below `at` to report, for example "tls.secretName"; "": `at` itself
  RuleCheck check = {};          // rule_check.h; empty: check_fields.cc evaluates the rule
  bool is_required = false;      // `field` must be set: reason FieldValueRequired instead of FieldValueInvalid
  bool on_cluster_only = false;  // the parser evaluates the rule only for ReadBy::kOperator
};

// The message of the rule that a job has spec.training or a program.
inline constexpr char kTrainingOrProgram[] =
    "expected an object, or a program of yours that trains: name it in spec.trainers.program";

// Returns all rules, in a fixed order. Thread-safe.
const std::vector<Rule>& DocumentRules();

std::vector<Rule> GraphRules();     // spec.graph, spec.partitioner, spec.servers (document_rules_graph.cc)
std::vector<Rule> TaskRules();      // spec.training.task, evaluation (document_rules_task.cc)
std::vector<Rule> LinkRules();      // LinkPrediction (document_rules_links.cc)
std::vector<Rule> InputRules();     // spec.training.inputs (document_rules_inputs.cc)
std::vector<Rule> ModelRules();     // spec.training.model, optimizer (document_rules_model.cc)
std::vector<Rule> SamplingRules();  // spec.training.sampling (document_rules_sampling.cc)
std::vector<Rule> RunRules();       // checkpoint, output, tls, runPolicy, roles (document_rules_run.cc)
std::vector<Rule> ProgramRules();   // spec.trainers.program (document_rules_program.cc)

// Returns a CEL expression for rules at "spec" that is true if `cel` is true or if there is no spec.training, which a
// job with a program may omit.
std::string IfTraining(const std::string& cel);

}  // namespace espalier::job
