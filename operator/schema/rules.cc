// FieldRules has the rules of single fields that a schema alone cannot describe. RelationRules has the rules of
// services/job. An API server evaluates a rule after it has filled in the defaults of the schema; optional fields
// without a default need has(). AddRules inserts the rules into the schema.
#include "operator/schema/rules.h"

#include "services/base/check.h"
#include "services/job/fields/field_table.h"
#include "services/job/rules/document_rules.h"

namespace espalier::ctl::schema {
namespace {

// Does most of the checks of services/job/checks/check_uris.cc, and the check of operator/api/check_cluster.cc that a
// path is absolute.
constexpr char kUriRule[] =
    R"(self.matches('^(file:(//)?)?/([^/]|$)') || (self.matches('^[sS]3[aA]?://[A-Za-z0-9][-._A-Za-z0-9]{1,253}[A-Za-z0-9](/[^/]+)*/?$') && )"
    R"(!self.matches('/\\.\\.?(/|$)')))";
constexpr char kEndpointRule[] =
    R"(self.matches('^https?://(\\[[0-9a-fA-F:.]{3,45}\\]|[A-Za-z0-9._-]{1,253})(:[1-9][0-9]{0,4})?(/[A-Za-z0-9._~-]+)*/?$') && )"
    R"(!self.matches('/\\.\\.?(/|$)'))";

// Limits the length of the prefix of an s3:// URI. The prefix starts after the first '/' at or after position 6:
// "s3a://" has 6 characters, and in "s3://" position 5 is the first character of the bucket.
Rule PrefixRule(const job::FieldSpec& field) {
  return {field.path,
          "!self.matches('^[sS]3[aA]?://') || self.indexOf('/', 6) < 0 || size(self) - self.indexOf('/', 6) <= " +
              std::to_string(field.max_prefix + 1),
          "the prefix of an s3:// URI has at most " + std::to_string(field.max_prefix) + " bytes: keys have at most " +
              std::to_string(job::kMaxKeyBytes) + ", and the names of files below the prefix need the rest",
          ""};
}

}  // namespace

std::vector<Rule> RelationRules() {
  std::vector<Rule> rules;
  for (const job::Rule& rule : job::DocumentRules()) {
    if (rule.cel.empty()) continue;
    rules.push_back(
        {rule.at, rule.cel, rule.message, rule.field, rule.is_required ? "FieldValueRequired" : "FieldValueInvalid"});
  }
  return rules;
}

std::vector<Rule> FieldRules() {
  std::vector<Rule> rules = {
      {"", "self.metadata.name.matches('^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$')",
       "expected a name of at most 40 lower-case letters, digits and '-' that starts with a letter and does not end "
       "with '-': the names of the job's child objects are made from it",
       "metadata.name"},
  };
  for (const job::FieldSpec& field : job::FieldTable()) {
    if (field.type == job::FieldType::kUri) {
      rules.push_back(
          {field.path, kUriRule, "expected s3://bucket/prefix, or an absolute path under a volumeMount", ""});
      // If the prefix may have kMaxKeyBytes, the schema's limit on the length of the whole URI suffices.
      if (field.max_prefix < job::kMaxKeyBytes) rules.push_back(PrefixRule(field));
    } else if (field.type == job::FieldType::kEndpoint) {
      rules.push_back({field.path, kEndpointRule, "expected " + DescribeExpected(field), ""});
    }
  }
  return rules;
}

void AddRules(const std::vector<Rule>& rules, OrderedJson* document_schema) {
  for (const Rule& rule : rules) {
    OrderedJson* schema = FindField(document_schema, rule.at);
    ESPALIER_CHECK(schema != nullptr) << "the schema has no field " << rule.at << " for a rule";
    OrderedJson validation = {{"rule", rule.cel}, {"message", rule.message}, {"reason", rule.reason}};
    if (!rule.field.empty()) validation["fieldPath"] = "." + rule.field;
    (*schema)["x-kubernetes-validations"].push_back(std::move(validation));
  }
}

}  // namespace espalier::ctl::schema
