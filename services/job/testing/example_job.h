// A complete job document for tests, like the example in docs/disttraining.md.
#pragma once

#include <string>

namespace espalier::job {

inline constexpr const char* kExampleJob = R"(apiVersion: espalier.io/v1alpha1
kind: DistTraining
metadata:
  name: cora
spec:
  graph:
    source: {uri: /srv/graphs/cora, format: OGB}
    preprocess: {addReverseEdges: false, normalizeFeatures: Row}
    partitions: {count: 2, algorithm: METIS, objective: EdgeCut, balance: [TrainNodes], reuse: IfPresent}
  training:
    task:
      type: NodeClassification
      label: node-label
      split: public
    inputs:
    - features: [node-feat]
    model: {type: GraphSAGE, aggregator: Mean, hiddenSize: 64, dropout: 0.5, normalization: None}
    sampling:
      layers: [{fanout: 25}, {fanout: 10}]
      replace: false
    batchSize: 140
    epochs: 50
    seed: 1
    optimizer: {type: Adam, learningRate: 0.01, weightDecay: 0.0005}
    learningRateSchedule: {type: Constant, warmupSteps: 0}
    evaluation: {everyEpochs: 1, metric: Accuracy, neighborhood: Full, earlyStopping: {patience: 20}}
  partitioner:
    resources: {requests: {cpu: 100m, memory: 256Mi}, limits: {memory: 512Mi}}
  servers:
    replicasPerPartition: 1
    containersPerPod: 1
    resources: {requests: {cpu: 100m, memory: 128Mi}, limits: {memory: 256Mi}}
  samplers:
    replicas: 0
  trainers:
    replicas: 2
    minReplicas: 1
    maxReplicas: 4
    threads: 1
    resources: {requests: {cpu: 250m, memory: 512Mi}, limits: {memory: 1Gi}}
    template:
      spec: {priorityClassName: batch}
  output:
    uri: /srv/results/cora
    save: [Model, Embeddings, Predictions]
  runPolicy:
    suspend: false
    backoffLimit: 3
    cleanPodPolicy: Running
    activeDeadlineSeconds: 3600
    ttlSecondsAfterFinished: 86400
)";

}  // namespace espalier::job
