#include "operator/plan/testing/a_training.h"

#include "services/base/check.h"

namespace espalier::ctl::plan::testing {
namespace {

constexpr char kDocument[] = R"({
  "apiVersion": "espalier.io/v1alpha1",
  "kind": "DistTraining",
  "metadata": {"name": "cora", "namespace": "ml", "uid": "11111111-2222-3333-4444-555555555555", "generation": 1,
               "resourceVersion": "1", "creationTimestamp": "2026-01-02T03:04:05Z"},
  "spec": {
    "graph": {"source": {"uri": "s3://graphs/cora", "format": "OGB"}, "partitions": {"count": 2}},
    "training": {
      "task": {"type": "NodeClassification", "split": "public"},
      "inputs": [{"features": ["node-feat"]}],
      "model": {"type": "GraphSAGE"},
      "sampling": {"layers": [{"fanout": 25}, {"fanout": 10}]}
    },
    "trainers": {"replicas": 2},
    "output": {"uri": "s3://results/cora"},
    "tls": {"mode": "Disabled"}
  }
})";

kube::Json Document() {
  Result<kube::Json> document = kube::ParseJson(kDocument);
  ESPALIER_CHECK(document.ok()) << document.status().ToString();
  return *std::move(document);
}

}  // namespace

api::DistTraining ATraining(const kube::Json& spec) {
  kube::Json document = Document();
  document["spec"].merge_patch(spec);
  Result<api::DistTraining> training = api::ParseDistTraining(document);
  ESPALIER_CHECK(training.ok()) << training.status().ToString();
  return *std::move(training);
}

void MergeSpec(api::DistTraining* training, const kube::Json& spec) {
  kube::Json document = Document();
  document["spec"] = training->raw_spec;
  document["spec"].merge_patch(spec);
  Result<api::DistTraining> changed = api::ParseDistTraining(document);
  ESPALIER_CHECK(changed.ok()) << changed.status().ToString();
  training->raw_spec = changed->raw_spec;
  training->spec = changed->spec;
  training->violations = changed->violations;
}

}  // namespace espalier::ctl::plan::testing
