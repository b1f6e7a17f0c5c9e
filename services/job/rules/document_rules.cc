#include "services/job/rules/document_rules.h"

namespace espalier::job {

const std::vector<Rule>& DocumentRules() {
  static const auto* const rules = [] {
    auto* all = new std::vector<Rule>;
    for (const std::vector<Rule>& part : {GraphRules(), TaskRules(), LinkRules(), InputRules(), ModelRules(),
                                          SamplingRules(), RunRules(), ProgramRules()}) {
      all->insert(all->end(), part.begin(), part.end());
    }
    return all;
  }();
  return *rules;
}

std::string IfTraining(const std::string& cel) { return "!has(self.training) || (" + cel + ")"; }

}  // namespace espalier::job
