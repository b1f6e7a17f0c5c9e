// Generated documents that violate rules of the table (document_rules.h) and documents that satisfy them, for tests
// that compare the parser with an API server.
#pragma once

#include <string>
#include <vector>

#include "services/job/checks/check_rules.h"

namespace espalier::job {

struct RuleCase {
  std::string name;  // the base document and the changes, for messages of tests
  nlohmann::ordered_json document;
  std::vector<RuleViolation> violations;  // of a cluster's parser
};

// Returns the cases: each base document by itself, with each single change, and with combinations of changes that are
// drawn with a fixed seed. All fields of a document are valid by themselves. Reports a gtest failure otherwise.
std::vector<RuleCase> MakeRuleCases();

}  // namespace espalier::job
