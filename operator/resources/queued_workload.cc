// The Workload asks Kueue for the quota of all roles at once, one pod set per role. InputsOfQueuedWorkload computes the
// value of the Workload's kInputsAnnotation from the inputs of the pod sets, without building their templates.
#include <algorithm>

#include "operator/resources/child.h"
#include "operator/resources/job_document.h"
#include "operator/resources/names.h"

namespace espalier::ctl::resources {

using kube::Json;

namespace {

using api::Role;

// The label with the owner's uid, which Kueue's own integrations set too.
constexpr char kJobUidLabel[] = "kueue.x-k8s.io/job-uid";

// Returns the topologyRequest that the annotations of the pod set's template ask for, or null if there is none. For
// trainers it contains the index label, by which Kueue places neighboring ranks close to each other. For servers it
// does not, because the index of a server's pod is unique only within a replica.
Json TopologyRequest(Role role, const Json& pod_template) {
  const auto annotation = [&pod_template](const char* name) {
    return kube::StringAt(pod_template, {"metadata", "annotations", name});
  };
  Json request;
  if (const std::string level = annotation(kRequiredTopologyAnnotation); !level.empty()) {
    request = {{"required", level}};
  } else if (const std::string preferred = annotation(kPreferredTopologyAnnotation); !preferred.empty()) {
    request = {{"preferred", preferred}};
  } else if (annotation(kUnconstrainedTopologyAnnotation) == "true") {
    request = {{"unconstrained", true}};
  } else {
    return request;
  }
  if (role == Role::kTrainer) request["podIndexLabel"] = kCompletionIndexLabel;
  return request;
}

// Returns the context for the pod sets: with the document's number of trainers, without placements and gangs, and with
// an attempt and an incarnation of at least 1, because the Workload exists before the first attempt.
Context MakePodSetContext(const Context& context) {
  Context first = context;
  first.placements.clear();
  first.gangs.clear();
  first.status.partition_attempt = std::max<int64_t>(1, first.status.partition_attempt);
  first.status.incarnation = std::max<int64_t>(1, first.status.incarnation);
  first.status.trainer_replicas = context.training.spec->job.trainer_replicas;
  return first;
}

Inputs InputsOfPodSets(const Context& given, const TrainerPods& trainers) {
  const Context context = MakePodSetContext(given);
  Inputs inputs;
  for (const Role role : api::kRoles) {
    const int64_t count = role == Role::kTrainer ? trainers.count : CountPods(*context.training.spec, role);
    if (count == 0) continue;
    inputs.Add(api::FieldName(role), Json::array({count, SelectInputs(context, role).Hash(context.training)}));
  }
  if (trainers.least) inputs.Add("minTrainers", *trainers.least);
  return inputs;
}

TrainerPods NumbersInDocument(const api::Spec& spec) {
  return {.count = CountPods(spec, Role::kTrainer), .least = MinTrainerPods(spec)};
}

}  // namespace

std::optional<int64_t> MinTrainerPods(const api::Spec& spec) {
  const std::optional<int64_t> trainers = kube::IntegerAt(spec.document, {"spec", "trainers", "minReplicas"});
  return trainers ? std::optional(CountTrainerPods(spec, *trainers)) : std::nullopt;
}

std::string InputsOfQueuedWorkload(const Context& context) {
  return InputsOfQueuedWorkload(context, NumbersInDocument(*context.training.spec));
}

std::string InputsOfQueuedWorkload(const Context& context, const TrainerPods& trainers) {
  return InputsOfPodSets(context, trainers).Hash(context.training);
}

Json QueuedWorkload(const Context& given, std::optional<int64_t> priority) {
  const api::DistTraining& training = given.training;
  const Context context = MakePodSetContext(given);
  Json sets = Json::array();
  for (const Role role : api::kRoles) {
    const int64_t count = CountPods(*training.spec, role);
    if (count == 0) continue;
    Json set = {{"name", api::FieldName(role)}, {"count", count}, {"template", PodTemplate(context, role)}};
    const auto least = MinTrainerPods(*training.spec);
    if (role == Role::kTrainer && least && *least < count) set["minCount"] = *least;
    if (Json request = TopologyRequest(role, set["template"]); !request.is_null()) {
      set["topologyRequest"] = std::move(request);
    }
    sets.push_back(std::move(set));
  }
  Json workload = MakeChild(context, kube::kWorkloads, QueuedWorkloadName(training.meta.key.name), kSharedComponent,
                            InputsOfPodSets(given, NumbersInDocument(*training.spec)));
  workload["metadata"]["labels"][kJobUidLabel] = training.meta.uid;
  workload["spec"] = {{"queueName", FindLabel(training, kQueueLabel)}, {"podSets", std::move(sets)}};
  if (const auto seconds = MaxExecutionSeconds(training)) workload["spec"]["maximumExecutionTimeSeconds"] = *seconds;
  if (const std::string name = FindLabel(training, kQueuePriorityLabel); !name.empty() && priority) {
    workload["spec"]["priorityClassRef"] = {
        {"group", kube::kWorkloadPriorityClasses.group}, {"kind", kube::kWorkloadPriorityClasses.kind}, {"name", name}};
    workload["spec"]["priority"] = *priority;
  }
  return workload;
}

}  // namespace espalier::ctl::resources
