#include "operator/resources/testing/jobs.h"

#include "services/base/check.h"

namespace espalier::ctl::resources::testing {
namespace {

using kube::Json;

constexpr char kSmall[] = R"({
  "apiVersion": "espalier.io/v1alpha1",
  "kind": "DistTraining",
  "metadata": {"name": "cora", "namespace": "ml", "uid": "6f1c9c1e-0000-4000-8000-000000000001"},
  "spec": {
    "graph": {"source": {"uri": "s3://graphs/cora", "format": "OGB"}},
    "training": {
      "task": {"type": "NodeClassification", "split": "public"},
      "inputs": [{"features": ["node-feat"]}],
      "model": {"type": "GraphSAGE"},
      "sampling": {"layers": [{"fanout": 25}, {"fanout": 10}]}
    },
    "output": {"uri": "s3://results/cora"}
  }
})";

constexpr char kFull[] = R"({
  "storage": {"s3": {"endpoint": "https://s3.example.com", "region": "eu-west-1",
                     "credentials": {"secretName": "cora-s3"}}},
  "graph": {"partitions": {"count": 2, "uri": "s3://partitions/cora"}},
  "partitioner": {
    "image": "registry.example.com/core:1", "serviceAccountName": "graph-reader",
    "resources": {"requests": {"cpu": "2", "memory": "8Gi"}, "limits": {"cpu": "4", "memory": "8Gi"}}
  },
  "servers": {
    "cacheMedium": "Memory",
    "resources": {"requests": {"cpu": "1", "memory": "4Gi"}, "limits": {"memory": "4Gi"}},
    "nodeSelector": {"pool": "graph"},
    "tolerations": [{"key": "graph", "operator": "Exists", "effect": "NoSchedule"}],
    "template": {
      "metadata": {"annotations": {"team": "graphs"}},
      "spec": {"containers": [{"name": "log-shipper", "image": "shipper:2",
                               "volumeMounts": [{"name": "spool", "mountPath": "/spool"}]}],
               "volumes": [{"name": "spool", "emptyDir": {}}]}
    }
  },
  "samplers": {"replicas": 2, "env": [{"name": "ESPALIER_MAX_STREAMS", "value": "512"}]},
  "trainers": {
    "replicas": 3, "threads": 4,
    "resources": {"requests": {"cpu": "4", "memory": "8Gi"}, "limits": {"memory": "8Gi"}},
    "template": {
      "spec": {"priorityClassName": "batch",
               "containers": [{"name": "trainer", "env": [{"name": "OMP_WAIT_POLICY", "value": "active"},
                                                          {"name": "ESPALIER_RANK", "value": "7"}]}]}
    }
  }
})";

Json Parsed(const char* text) {
  Result<Json> json = kube::ParseJson(text);
  ESPALIER_CHECK(json.ok()) << json.status().ToString();
  return *std::move(json);
}

}  // namespace

Job JobWith(const Json& spec) {
  Json object = Parsed(kSmall);
  object["spec"].merge_patch(spec);
  return JobOf(object);
}

Job JobOf(const Json& document) {
  Json object = document;
  const Json small = Parsed(kSmall);
  for (const auto& [field, value] : small["metadata"].items()) {
    if (!object["metadata"].contains(field)) object["metadata"][field] = value;
  }
  Result<api::DistTraining> training = api::ParseDistTraining(object);
  ESPALIER_CHECK(training.ok()) << training.status().ToString();
  Job job{.training = *std::move(training), .status = {}};
  ESPALIER_CHECK(job.training.spec.has_value()) << job.training.violations;
  job.status.incarnation = 1;
  job.status.partition_attempt = 1;
  job.status.trainer_replicas = job.training.spec->job.trainer_replicas;
  job.status.partition = {.hash = "0123abcd", .uri = PartitionsPrefix(job.training) + "/0123abcd"};
  for (const api::Role role : api::kRoles) {
    const std::string& image = job.training.spec->role(role).image;
    const bool is_trainer = role == api::Role::kTrainer;
    job.status.images[api::ToString(role)] = !image.empty() ? image
                                             : is_trainer   ? "espalier/trainer:0.1.0"
                                                            : "espalier/core:0.1.0";
  }
  return job;
}

Job SmallJob() { return JobWith(Json::object()); }
Job FullJob() { return JobWith(Parsed(kFull)); }

Job TwoContainersJob() {
  Json spec = Parsed(kFull);
  spec["servers"]["containersPerPod"] = 2;
  spec["trainers"]["replicas"] = 6;
  spec["trainers"]["containersPerPod"] = 3;
  spec["trainers"]["featureCache"] = {{"memory", "1Gi"}, {"sharedMemory", "2Gi"}};
  return JobWith(spec);
}

}  // namespace espalier::ctl::resources::testing
