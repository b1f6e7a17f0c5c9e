// A job document for the graph of a small library, for tests that check documents against graphs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "services/base/check.h"
#include "services/job/parsing/parse.h"

namespace espalier::partitioner {

// The document expects a node type "paper" with columns "feat" and "topic" and a split "time".
inline constexpr const char* kLibraryDocument = R"(apiVersion: espalier.io/v1alpha1
kind: DistTraining
metadata: {name: library}
spec:
  graph: {source: {uri: /srv/library, format: NPY}, partitions: {count: 2}}
  training:
    task: {type: NodeClassification, nodeType: paper, label: topic, split: time}
    inputs:
    - {nodeType: paper, features: [feat]}
    model: {type: GraphSAGE, hiddenSize: 8}
    sampling: {layers: [{fanout: 5}]}
    batchSize: 8
    epochs: 1
)";

using Settings = std::vector<std::pair<std::string, std::string>>;

inline Settings With(Settings settings, const Settings& more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

inline job::ParsedJob LibraryJob(const Settings& settings) {
  Result<job::ParsedJob> job =
      job::ParseJob("job.yaml", kLibraryDocument, settings, job::ReadBy::kRunOrRole, job::SpecTraining::kOptional);
  ESPALIER_CHECK(job.ok()) << job.status().ToString();
  return *std::move(job);
}

}  // namespace espalier::partitioner
