#include "operator/resources/job_document.h"

#include "services/base/check.h"
#include "services/job/fields/without_defaults.h"

namespace espalier::ctl::resources {

using kube::Json;

namespace {

// Returns the document without fields that have their default value. The job's images may be older than the operator,
// and might refuse fields that they do not know.
Json RemoveDefaults(const Json& document) {
  Result<Json> shortened = kube::ParseJson(job::WithoutDefaults(kube::Print(document)));
  ESPALIER_CHECK(shortened.ok()) << shortened.status().ToString();
  return *std::move(shortened);
}

}  // namespace

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
  // spec.training may refer to plugins.
  if (const Json* const plugins = kube::Find(document, {"spec", "servers", "plugins"})) {
    spec["servers"]["plugins"] = *plugins;
  }
  if (const Json* const memory = kube::Find(document, {"spec", "partitioner", "memory"})) {
    spec["partitioner"]["memory"] = *memory;
  }
  spec["trainers"]["threads"] = training.spec->job.trainer_threads;
  if (!trainers) return RemoveDefaults(job);
  spec["trainers"]["replicas"] = *trainers;
  if (const Json* const device = kube::Find(document, {"spec", "trainers", "device"})) {
    spec["trainers"]["device"] = *device;
  }
  if (const Json* const cache = kube::Find(document, {"spec", "trainers", "featureCache"})) {
    spec["trainers"]["featureCache"] = *cache;
  }
  if (const Json* const program = kube::Find(document, {"spec", "trainers", "program"})) {
    spec["trainers"]["program"] = *program;
  }
  return RemoveDefaults(job);
}

int64_t CountTrainers(const Context& context) {
  if (context.status.trainer_replicas > 0) return context.status.trainer_replicas;
  return context.training.spec->job.trainer_replicas;
}

}  // namespace espalier::ctl::resources
