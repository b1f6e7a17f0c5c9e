// Stages: text -> tree (yaml_tree) -> overrides -> typed values (check_fields) -> dependent_defaults -> DistTraining
// (to_training) -> rules (check_rules). Violations are collected, and returned before a stage that needs a valid result
// of the previous stage.
#include "services/job/parsing/parse.h"

#include "services/job/checks/check_fields.h"
#include "services/job/checks/check_rules.h"
#include "services/job/parsing/dependent_defaults.h"
#include "services/job/parsing/overrides.h"
#include "services/job/parsing/to_training.h"
#include "services/job/text/read_document.h"

namespace espalier::job {
namespace {

std::vector<std::string> SourceNames(const std::string& file_name,
                                     const std::vector<std::pair<std::string, std::string>>& overrides) {
  std::vector<std::string> names = {file_name};
  for (const auto& [path, value] : overrides) names.push_back("--set " + path);
  return names;
}

// Returns the tree of `text`. If the text has errors, they are added to `violations` and the tree is incomplete.
YamlNode ReadTree(const std::string& text, int source, Violations* violations) {
  std::vector<YamlError> errors;
  YamlNode tree = ReadYaml(text, source, {}, &errors);
  for (YamlError& error : errors) violations->Add(error.at, "", std::move(error.message));
  return tree;
}

}  // namespace

Result<ParsedJob> ParseJob(const std::string& file_name, const std::string& text,
                           const std::vector<std::pair<std::string, std::string>>& overrides, ReadBy read_by,
                           SpecTraining spec_training) {
  Violations violations(SourceNames(file_name, overrides));
  YamlNode tree = ReadTree(text, 0, &violations);
  RETURN_IF_ERROR(violations.ToStatus());  // an incomplete tree would cause spurious violations

  for (size_t i = 0; i < overrides.size(); ++i) {
    YamlNode value = ReadTree(overrides[i].second, static_cast<int>(i) + 1, &violations);
    value.at = {static_cast<int>(i) + 1, 1, 1};
    ApplyOverride(overrides[i].first, std::move(value), &tree, &violations);
  }
  CheckedDocument document = CheckFields(tree, read_by, spec_training, &violations);
  RETURN_IF_ERROR(violations.ToStatus());

  FillDependentDefaults(read_by, &document.values);
  const DistTraining training = ToDistTraining(document.values);
  CheckRules(training, document, read_by, &violations);
  RETURN_IF_ERROR(violations.ToStatus());
  return ParsedJob{training, std::move(document.ignored), document.values.dump(2) + "\n",
                   DocumentPlaces(SourceNames(file_name, overrides), std::move(document.positions))};
}

Result<ParsedJob> ReadJob(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadDocument(path));
  return ParseJob(path, text, {});
}

}  // namespace espalier::job
