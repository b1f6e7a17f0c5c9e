#include "operator/resources/job_document.h"

namespace espalier::ctl::resources {

using kube::Json;

Json JobDocument(const api::DistTraining& training, std::optional<int64_t> trainers) {
  const Json& document = training.spec->document;
  Json job;
  job["apiVersion"] = kube::kDistTrainings.api_version();
  job["kind"] = kube::kDistTrainings.kind;
  job["metadata"]["name"] = training.meta.key.name;
  Json& spec = job["spec"] = Json::object();
  for (const char* const part : {"storage", "graph", "training", "checkpoint", "output", "tls"}) {
    if (const Json* const value = kube::Find(document, {"spec", part})) spec[part] = *value;
  }
  spec["trainers"]["threads"] = training.spec->job.trainer_threads;
  if (!trainers) return job;
  spec["trainers"]["replicas"] = *trainers;
  if (const Json* const program = kube::Find(document, {"spec", "trainers", "program"})) {
    spec["trainers"]["program"] = *program;
  }
  return job;
}

int64_t TrainersOf(const Context& context) {
  if (context.status.trainer_replicas > 0) return context.status.trainer_replicas;
  return context.training.spec->job.trainer_replicas;
}

}  // namespace espalier::ctl::resources
