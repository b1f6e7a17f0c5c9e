#include "operator/resources/child.h"

#include <utility>

#include "services/base/sha256.h"

namespace espalier::ctl::resources {

using kube::Json;

Inputs& Inputs::Add(const std::string& name, Json value) {
  inputs_[name] = std::move(value);
  return *this;
}

std::string Inputs::Hash(const api::DistTraining& training) const {
  return Sha256Hex(training.meta.uid + " " + kube::Print(inputs_)).substr(0, 16);
}

Inputs SelectInputs(const Context& context, api::Role role) {
  const api::RoleSpec& spec = context.training.spec->role(role);
  Inputs inputs;
  const auto add = [&](const char* name, const Json& value) {
    if (!value.empty()) inputs.Add(name, value);
  };
  if (const auto image = context.status.images.find(api::ToString(role)); image != context.status.images.end()) {
    inputs.Add("image", image->second);
  }
  add("resources", spec.resources);
  add("env", spec.env);
  add("nodeSelector", spec.node_selector);
  add("tolerations", spec.tolerations);
  add("template", spec.pod_template);
  if (!spec.service_account_name.empty()) inputs.Add("serviceAccountName", spec.service_account_name);
  if (spec.cache_in_memory) inputs.Add("cacheInMemory", true);
  const uint32_t gpus = context.training.spec->job.trainer_gpus;
  if (role == api::Role::kTrainer && gpus > 0) inputs.Add("gpus", gpus);
  const uint32_t trainers_per_pod = context.training.spec->job.trainer_containers_per_pod;
  if (role == api::Role::kTrainer && trainers_per_pod > 1) inputs.Add("containersPerPod", trainers_per_pod);
  if (const auto placement = context.placements.find(role); placement != context.placements.end()) {
    inputs.Add("placement", placement->second);
  }
  return inputs;
}

std::string InputsOfShared(const Context& context) { return Inputs().Hash(context.training); }

Json MakeChild(const Context& context, const kube::Resource& resource, const std::string& name,
               const std::string& component, const Inputs& inputs) {
  const api::DistTraining& training = context.training;
  Json child;
  child["apiVersion"] = resource.api_version();
  child["kind"] = resource.kind;
  Json& meta = child["metadata"];
  meta["name"] = name;
  meta["namespace"] = training.meta.key.name_space;
  Labels labels = MakeLabels(training, component);
  labels.merge(InheritedLabels(training));
  meta["labels"] = std::move(labels);
  meta["annotations"][kInputsAnnotation] = inputs.Hash(training);
  meta["ownerReferences"] = Json::array({kube::MakeControllerReference(kube::kDistTrainings, training.meta)});
  return child;
}

}  // namespace espalier::ctl::resources
