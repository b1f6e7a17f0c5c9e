#include "operator/resources/child.h"
#include "operator/resources/job_document.h"
#include "operator/resources/names.h"

namespace espalier::ctl::resources {

using kube::Json;

namespace {

constexpr int kIndent = 2;  // for readability

std::string ToText(const Json& document) {
  return document.dump(kIndent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

Json MakeData(const Json& document) { return {{"job.json", ToText(document)}}; }

}  // namespace

Json ConfigMap(const Context& context) {
  Json map = MakeChild(context, kube::kConfigMaps, ConfigName(context.training.meta.key.name), kSharedComponent);
  map["data"] = MakeData(JobDocument(context.training, std::nullopt));
  // Not read by the job; shows users which defaults its pods have.
  if (context.defaults != nullptr && !context.defaults->document.is_null()) {
    map["data"]["defaults.json"] = ToText(context.defaults->document);
  }
  return map;
}

Json TrainerConfigMap(const Context& context) {
  const int64_t incarnation = context.status.incarnation;
  const int64_t trainers = CountTrainers(context);
  Inputs inputs;
  inputs.Add("incarnation", incarnation).Add("trainers", trainers);
  Json map = MakeChild(context, kube::kConfigMaps, TrainerConfigName(context.training.meta.key.name, incarnation),
                       api::ToString(api::Role::kTrainer), inputs);
  map["metadata"]["labels"][kIncarnationLabel] = std::to_string(incarnation);
  map["immutable"] = true;
  map["data"] = MakeData(JobDocument(context.training, trainers));
  return map;
}

}  // namespace espalier::ctl::resources
