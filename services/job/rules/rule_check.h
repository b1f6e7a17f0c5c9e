// Makes RuleChecks from lambdas. The type of a lambda's first parameter determines the values that it checks:
//
//   Holds([](const Model& self) { return self.type == ModelType::kRgcn || self.num_bases == 0; })
//
// checks spec.training.model. A second parameter `const RuleFields& fields` is the same value as JSON, for predicates
// that depend on whether a field is in the document. The first parameter has one of the types for which RuleTarget is
// defined, or is `const RuleFields& self`, the value at Rule::at as JSON.
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "services/base/check.h"
#include "services/job/rules/document_rules.h"

namespace espalier::job {

// A value of the document as JSON, usually an object.
using RuleFields = nlohmann::ordered_json;

// Returns whether the object has the field at a dotted path, such as "task.scorer". Only for fields without a default:
// fields with a default are always in the document.
bool HasField(const RuleFields& object, const std::string& path);

// Calls visit(value, path) for each value at the path, in which "[]" means all items of a list.
void VisitValues(const RuleFields& document, const std::string& path,
                 const std::function<void(const RuleFields& value, const std::string& path)>& visit);

// Returns the value at a path with indices, such as "spec.training.inputs[1]"; an empty object if there is none.
const RuleFields& FindValue(const RuleFields& document, const std::string& path);

// The values of type Self in a document: kPath is their path, and VisitAll calls visit(value, path) for each of them.
template <class Self>
struct RuleTarget;

template <>
struct RuleTarget<DistTraining> {
  static constexpr char kPath[] = "spec";
  template <class Visit>
  static void VisitAll(const DistTraining& job, const Visit& visit) {
    visit(job, kPath);
  }
};

template <>
struct RuleTarget<Partitions> {
  static constexpr char kPath[] = "spec.graph.partitions";
  template <class Visit>
  static void VisitAll(const DistTraining& job, const Visit& visit) {
    visit(job.graph.partitions, kPath);
  }
};

template <>
struct RuleTarget<ServerPlugin> {
  static constexpr char kPath[] = "spec.servers.plugins[]";
  template <class Visit>
  static void VisitAll(const DistTraining& job, const Visit& visit) {
    for (size_t i = 0; i < job.server_plugins.size(); ++i) {
      visit(job.server_plugins[i], "spec.servers.plugins[" + std::to_string(i) + "]");
    }
  }
};

template <>
struct RuleTarget<Training> {
  static constexpr char kPath[] = "spec.training";
  template <class Visit>
  static void VisitAll(const DistTraining& job, const Visit& visit) {
    if (job.has_training) visit(job.training, kPath);
  }
};

template <>
struct RuleTarget<Model> {
  static constexpr char kPath[] = "spec.training.model";
  template <class Visit>
  static void VisitAll(const DistTraining& job, const Visit& visit) {
    if (job.has_training) visit(job.training.model, kPath);
  }
};

template <>
struct RuleTarget<Optimizer> {
  static constexpr char kPath[] = "spec.training.optimizer";
  template <class Visit>
  static void VisitAll(const DistTraining& job, const Visit& visit) {
    if (job.has_training) visit(job.training.optimizer, kPath);
  }
};

template <>
struct RuleTarget<Sampling> {
  static constexpr char kPath[] = "spec.training.sampling";
  template <class Visit>
  static void VisitAll(const DistTraining& job, const Visit& visit) {
    if (job.has_training) visit(job.training.sampling, kPath);
  }
};

template <>
struct RuleTarget<SamplingLayer> {
  static constexpr char kPath[] = "spec.training.sampling.layers[]";
  template <class Visit>
  static void VisitAll(const DistTraining& job, const Visit& visit) {
    const std::vector<SamplingLayer>& layers = job.training.sampling.layers;
    for (size_t i = 0; i < layers.size(); ++i) {
      visit(layers[i], "spec.training.sampling.layers[" + std::to_string(i) + "]");
    }
  }
};

template <>
struct RuleTarget<Input> {
  static constexpr char kPath[] = "spec.training.inputs[]";
  template <class Visit>
  static void VisitAll(const DistTraining& job, const Visit& visit) {
    const std::vector<Input>& inputs = job.training.inputs;
    for (size_t i = 0; i < inputs.size(); ++i) visit(inputs[i], "spec.training.inputs[" + std::to_string(i) + "]");
  }
};

template <>
struct RuleTarget<Embedding> {
  static constexpr char kPath[] = "spec.training.inputs[].embedding";
  template <class Visit>
  static void VisitAll(const DistTraining& job, const Visit& visit) {
    RuleTarget<Input>::VisitAll(job, [&](const Input& input, const std::string& path) {
      if (input.embedding.has_value()) visit(*input.embedding, path + ".embedding");
    });
  }
};

template <>
struct RuleTarget<Program> {
  static constexpr char kPath[] = "spec.trainers.program";
  template <class Visit>
  static void VisitAll(const DistTraining& job, const Visit& visit) {
    if (job.program.has_value()) visit(*job.program, kPath);
  }
};

template <>
struct RuleTarget<Script> {
  static constexpr char kPath[] = "spec.trainers.program.script";
  template <class Visit>
  static void VisitAll(const DistTraining& job, const Visit& visit) {
    if (job.program.has_value() && job.program->script.has_value()) visit(*job.program->script, kPath);
  }
};

// The types of a lambda's first parameter (Self) and result (Returned). Call calls the lambda with one or two
// arguments.
template <class Lambda>
struct RuleArguments : RuleArguments<decltype(&Lambda::operator())> {};

template <class Lambda, class R, class S>
struct RuleArguments<R (Lambda::*)(const S&) const> {
  using Self = S;
  using Returned = R;
  template <class Called>
  static R Call(const Called& lambda, const S& self, const RuleDocument&, const std::string&) {
    return lambda(self);
  }
};

template <class Lambda, class R, class S>
struct RuleArguments<R (Lambda::*)(const S&, const RuleFields&) const> {
  using Self = S;
  using Returned = R;
  template <class Called>
  static R Call(const Called& lambda, const S& self, const RuleDocument& document, const std::string& path) {
    return lambda(self, FindValue(document.values, path));
  }
};

// Calls visit(value, path, path_at) for each value of type Self. `at` is the path of the values or of a field below
// them, with "[]" for items of lists; `path` is the path of the value and `path_at` is `at`, both with indices.
template <class Self, class Visit>
void VisitRuleTargets(const RuleDocument& document, const std::string& at, const Visit& visit) {
  if constexpr (std::is_same_v<Self, RuleFields>) {
    VisitValues(document.values, at,
                [&](const RuleFields& value, const std::string& path) { visit(value, path, path); });
  } else {
    const std::string base = RuleTarget<Self>::kPath;
    ESPALIER_CHECK(at.starts_with(base)) << "a rule at " << at << " checks " << base << ", which does not contain it";
    RuleTarget<Self>::VisitAll(document.job, [&](const Self& self, const std::string& path) {
      visit(self, path, path + at.substr(base.size()));
    });
  }
}

// Returns a check that reports the findings that `find` returns as a std::vector<RuleFinding>.
template <class Find>
RuleCheck Finds(Find find) {
  using Arguments = RuleArguments<Find>;
  return [find](const RuleDocument& document, const std::string& at, const RuleReport& report) {
    VisitRuleTargets<typename Arguments::Self>(
        document, at, [&](const auto& self, const std::string& path, const std::string& path_at) {
          for (RuleFinding& finding : Arguments::Call(find, self, document, path)) report(path_at, std::move(finding));
        });
  };
}

// Returns a check that reports a value for which the predicate returns false. `detail` returns RuleFinding::detail.
template <class Predicate>
RuleCheck Holds(Predicate predicate,
                std::function<std::string(const typename RuleArguments<Predicate>::Self&)> detail = nullptr) {
  using Arguments = RuleArguments<Predicate>;
  return [predicate, detail](const RuleDocument& document, const std::string& at, const RuleReport& report) {
    VisitRuleTargets<typename Arguments::Self>(
        document, at, [&](const auto& self, const std::string& path, const std::string& path_at) {
          if (Arguments::Call(predicate, self, document, path)) return;
          report(path_at, {.detail = detail ? detail(self) : ""});
        });
  };
}

}  // namespace espalier::job
