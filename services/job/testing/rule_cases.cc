// A case is a base document and some changes of its spec, each a JSON merge patch. The changes are values that some
// rule mentions, and their neighbors. Combinations matter because a rule usually relates a field of one change with a
// field of another.
#include "services/job/testing/rule_cases.h"

#include <gtest/gtest.h>

#include "services/job/parsing/dependent_defaults.h"
#include "services/job/parsing/to_training.h"
#include "services/job/text/yaml_tree.h"

namespace espalier::job {
namespace {

using CaseJson = nlohmann::ordered_json;

constexpr int kCombinations = 100;  // of each base document

struct BaseDocument {
  const char* name;
  const char* spec;
};

constexpr BaseDocument kBases[] = {
    {"nodes", R"({"graph": {"source": {"uri": "s3://data/g", "format": "NPY"}}, "output": {"uri": "s3://data/out"},
      "training": {"task": {"type": "NodeClassification", "split": "s"}, "inputs": [{"features": ["x"]}],
                   "model": {"type": "GraphSAGE"}, "sampling": {"layers": [{"fanout": 5}]}}})"},
    {"regression", R"({"graph": {"source": {"uri": "s3://data/g", "format": "NPY"}}, "output": {"uri": "s3://data/out"},
      "training": {"task": {"type": "NodeRegression", "split": "s"},
                   "inputs": [{"nodeType": "a", "embedding": {"size": 8}}],
                   "model": {"type": "GATv2"}, "sampling": {"layers": [{"fanout": 5}]}}})"},
    {"edges", R"({"graph": {"source": {"uri": "s3://data/g", "format": "NPY"}}, "output": {"uri": "s3://data/out"},
      "training": {"task": {"type": "EdgeClassification", "split": "s", "label": "rating"},
                   "inputs": [{"features": ["x"]}],
                   "model": {"type": "RGCN"}, "sampling": {"layers": [{"fanout": 5}]}}})"},
    {"links", R"({"graph": {"source": {"uri": "s3://data/g", "format": "NPY"}}, "output": {"uri": "s3://data/out"},
      "training": {"task": {"type": "LinkPrediction", "split": "s"}, "inputs": [{"features": ["x"]}],
                   "model": {"type": "GraphSAGE"}, "sampling": {"layers": [{"fanout": 5}]}}})"},
    {"knowledge",
     R"({"graph": {"source": {"uri": "s3://data/g", "format": "Triples"}}, "output": {"uri": "s3://data/out"},
      "training": {"task": {"type": "LinkPrediction", "split": "s", "scorer": "ComplEx",
                            "negatives": {"type": "Joint", "count": 8}},
                   "inputs": [{"embedding": {"size": 8}}],
                   "model": {"type": "Embedding"}, "sampling": {"layers": []}}})"},
    {"module", R"({"graph": {"source": {"uri": "s3://data/g", "format": "NPY"}}, "output": {"uri": "s3://data/out"},
      "training": {"task": {"type": "NodeClassification", "split": "s"}, "inputs": [{"features": ["x"]}],
                   "model": {"type": "TorchScript", "uri": "s3://data/m.pt"}, "sampling": {"layers": [{"fanout": 5}]}}})"},
    {"times", R"({"graph": {"source": {"uri": "s3://data/g", "format": "NPY"}, "timeColumn": "at"},
      "output": {"uri": "s3://data/out", "save": ["Model"]},
      "training": {"task": {"type": "NodeClassification", "split": "s"}, "inputs": [{"features": ["x"]}],
                   "model": {"type": "GraphSAGE"}, "evaluation": {"neighborhood": "Sampled"},
                   "sampling": {"layers": [{"fanout": 5}], "seedTime": "at", "method": "Last"}}})"},
    {"program", R"({"graph": {"source": {"uri": "s3://data/g", "format": "NPY"}}, "output": {"uri": "s3://data/out"},
      "trainers": {"program": {"command": ["train"]}}})"},
    {"script", R"({"graph": {"source": {"uri": "s3://data/g", "format": "NPY"}}, "output": {"uri": "s3://data/out"},
      "trainers": {"program": {"script": {"uri": "s3://data/train.py"}}}})"},
};

constexpr const char* kChanges[] = {
    R"({"graph": {"partitions": {"algorithm": "External"}}})",
    R"({"graph": {"partitions": {"algorithm": "Random"}}})",
    R"({"graph": {"partitions": {"algorithm": "Multilevel"}}})",
    R"({"graph": {"partitions": {"algorithm": "Streaming"}}})",
    R"({"graph": {"partitions": {"assignmentUri": "s3://data/a"}}})",
    R"({"graph": {"partitions": {"objective": "CommunicationVolume"}}})",
    R"({"graph": {"partitions": {"balance": ["TrainNodes"]}}})",
    R"({"graph": {"partitions": {"balance": ["NodeTypes", "Edges"]}}})",
    R"({"graph": {"partitions": {"sourceColumns": ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m",
                                                   "n", "o", "p"]}}})",
    R"({"graph": {"partitions": {"sourceColumns": ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m",
                                                   "n", "o", "original_id"]}}})",
    R"({"graph": {"partitions": {"count": 4096}}})",
    R"({"graph": {"preprocess": {"addReverseEdges": true}}})",
    R"({"graph": {"preprocess": {"dropSelfLoops": true}}})",
    R"({"graph": {"preprocess": {"dropDuplicateEdges": true}}})",
    R"({"graph": {"timeColumn": "at"}})",
    R"({"partitioner": {"replicas": 2}})",
    R"({"partitioner": {"memory": "8Gi"}})",
    R"({"partitioner": {"env": [{"name": "A", "value": "1", "valueFrom": {}}]}})",
    R"({"servers": {"containersPerPod": 16, "replicasPerPartition": 2}})",
    R"({"servers": {"plugins": [{"name": "rows", "path": "/opt/rows.so"}]}})",
    R"({"servers": {"plugins": [{"name": "rows", "path": "rows.so"}, {"name": "b", "path": "/a,b.so"}]}})",
    R"({"servers": {"plugins": [{"name": "other", "path": ""}]}})",
    R"({"servers": {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "1", "valueFrom": {}}]}})",
    R"({"samplers": {"replicas": 1}})",
    R"({"samplers": {"env": [{"name": "A", "value": "1", "valueFrom": {}}]}})",
    R"({"trainers": {"env": [{"name": "A", "value": "1", "valueFrom": {}}]}})",
    R"({"trainers": {"minReplicas": 2}})",
    R"({"trainers": {"replicas": 4}})",
    R"({"trainers": {"maxReplicas": 3}})",
    R"({"trainers": {"program": {"command": ["train", ""]}}})",
    R"({"trainers": {"program": {"command": ["", "x"]}}})",
    R"({"trainers": {"program": {"args": ["x"]}}})",
    R"({"trainers": {"program": {"command": ["train", "a\u0000b"]}}})",
    R"({"trainers": {"program": {"args": ["\u0000"]}}})",
    R"({"trainers": {"program": {"script": {"uri": "s3://data/run.sh"}}}})",
    R"({"trainers": {"program": {"script": {"uri": "s3://data/a.tar.gz"}}}})",
    R"({"trainers": {"program": {"script": {"uri": "/mnt/train.py"}}}})",
    R"({"trainers": {"program": {"script": {"uri": "s3://data/folder/"}}}})",
    R"({"trainers": {"program": {"script": {"uri": "s3a://code.py"}}}})",
    R"({"trainers": {"program": {"script": {"uri": null, "configMapKeyRef": {"name": "c", "key": "a.zip"}}}}})",
    R"({"trainers": {"program": {"script": {"configMapKeyRef": {"name": "c", "key": "a.py"}}}}})",
    R"({"trainers": {"program": {"script": {"entrypoint": "src/train.py"}}}})",
    R"({"trainers": {"program": {"script": {"entrypoint": "src/../run.sh"}}}})",
    R"({"trainers": {"program": {"script": {"sha256": "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}}}})",
    R"({"trainers": {"program": {"script": {"sha256": "0123456789ABCDEF"}}}})",
    R"({"output": {"uri": null}})",
    R"({"output": {"save": ["Model", "TorchScript"]}})",
    R"({"output": {"save": ["Predictions"]}})",
    R"({"output": {"nodesUri": "s3://data/n"}})",
    R"({"trainers": {"featureCache": {"memory": "1Gi"}}})",
    R"({"trainers": {"featureCache": {"memory": "1Gi", "deviceMemory": "1Gi"}}})",
    R"({"trainers": {"device": "Auto"}})",
    R"({"trainers": {"gpus": 1}})",
    R"({"trainers": {"gpus": 2}})",
    R"({"trainers": {"containersPerPod": 2}})",
    R"({"checkpoint": {"resumeFrom": "s3://data/c"}})",
    R"({"tls": {"mode": "SecretRef"}})",
    R"({"tls": {"secretName": "certificates"}})",
    R"({"runPolicy": {"managedBy": "kueue.x-k8s.io/multikueue"}})",
    R"({"runPolicy": {"managedBy": "-kueue/a"}})",
    R"({"training": {"task": {"type": "NodeRegression"}}})",
    R"({"training": {"task": {"type": "EdgeClassification"}}})",
    R"({"training": {"task": {"type": "EdgeRegression", "label": "rating"}}})",
    R"({"training": {"task": {"type": "LinkPrediction"}}})",
    R"({"training": {"task": {"multiLabel": true}}})",
    R"({"training": {"task": {"nodeType": "a"}}})",
    R"({"training": {"task": {"exclude": "Self"}}})",
    R"({"training": {"task": {"exclude": "ReverseEdges"}}})",
    R"({"training": {"task": {"edgeType": "a:r:b"}}})",
    R"({"training": {"task": {"edgeTypes": ["r", "s"]}}})",
    R"({"training": {"task": {"reverseEdgeType": "rev_r"}}})",
    R"({"training": {"task": {"scorer": "RotatE"}}})",
    R"({"training": {"task": {"loss": "CrossEntropy"}}})",
    R"({"training": {"task": {"negatives": {"type": "InBatch", "count": 4}}}})",
    R"({"training": {"task": {"negatives": {"type": "InDegree", "count": 65536}}}})",
    R"({"training": {"task": {"negatives": {"count": 65536}}}})",
    R"({"training": {"task": {"negatives": {"type": "InBatch"}}}})",
    R"({"training": {"batchSize": 1}})",
    R"({"training": {"batchSize": 4}})",
    R"({"training": {"batchSize": 65536, "model": {"hiddenSize": 1}}})",
    R"({"training": {"batchSize": 16777216, "model": {"hiddenSize": 512}}})",
    R"({"training": {"epochs": 0}})",
    R"({"training": {"evaluation": {"metric": "Accuracy"}}})",
    R"({"training": {"evaluation": {"metric": "MeanSquaredError"}}})",
    R"({"training": {"evaluation": {"metric": "ROCAUC"}}})",
    R"({"training": {"evaluation": {"metric": "HitsAtK"}}})",
    R"({"training": {"evaluation": {"candidates": 10}}})",
    R"({"training": {"evaluation": {"filtered": false}}})",
    R"({"training": {"evaluation": {"k": 3}}})",
    R"({"training": {"evaluation": {"neighborhood": "Sampled"}}})",
    R"({"training": {"evaluation": {"neighborhood": "Full"}}})",
    R"({"training": {"inputs": [{"features": ["x"]}, {"nodeType": "a", "features": ["x"]}]}})",
    R"({"training": {"inputs": [{"nodeType": "a", "features": ["x"]}, {"nodeType": "b"},
                                {"nodeType": "a", "embedding": {"size": 4}}]}})",
    R"({"training": {"inputs": [{"embedding": {"size": 4, "optimizer": {"type": "Adam", "initialAccumulator": 0.5}}}]}})",
    R"({"training": {"inputs": [{"embedding": {"size": 4, "optimizer": {"initialAccumulator": 0.5}}}]}})",
    R"({"training": {"inputs": [{"embedding": {"size": 4, "initializer": {"low": 2, "high": 1}}}]}})",
    R"({"training": {"inputs": [{"embedding": {"size": 4, "initializer": {"type": "Zeros", "low": -2, "high": 2}}}]}})",
    R"({"training": {"inputs": [{"embedding": {"size": 4, "initializer": {"type": "Normal", "mean": 1}}}]}})",
    R"({"training": {"inputs": [{"embedding": {"size": 4, "initializer": {"mean": 1, "deviation": 2}}}]}})",
    R"({"training": {"inputs": [{"embedding": {"size": 4, "initializer": {"type": "Plugin"}}}]}})",
    R"({"training": {"inputs": [{"embedding": {"size": 4, "initializer": {"type": "Plugin", "plugin": "rows/a",
                                                                          "arguments": "1"}}}]}})",
    R"({"training": {"inputs": [{"embedding": {"size": 4, "initializer": {"plugin": "rows/a", "arguments": "1"}}}]}})",
    R"({"training": {"inputs": [{"embedding": {"size": 4, "learningRateSchedule": {"type": "Linear", "stepEpochs": 3,
                                                                                  "factor": 0.5}}}]}})",
    R"({"training": {"learningRateSchedule": {"stepEpochs": 3, "factor": 0.5}}})",
    R"({"training": {"learningRateSchedule": {"type": "Step", "stepEpochs": 3, "factor": 0.5}}})",
    R"({"training": {"model": {"type": "GCN"}}})",
    R"({"training": {"model": {"type": "GAT"}}})",
    R"({"training": {"model": {"type": "RGCN"}}})",
    R"({"training": {"model": {"type": "Embedding"}}})",
    R"({"training": {"model": {"type": "TorchScript"}}})",
    R"({"training": {"model": {"uri": "s3://data/m"}}})",
    R"({"training": {"model": {"aggregator": "Pool"}}})",
    R"({"training": {"model": {"numBases": 4}}})",
    R"({"training": {"model": {"hiddenSize": 33}}})",
    R"({"training": {"model": {"dropout": 0.25}}})",
    R"({"training": {"model": {"normalization": "Layer"}}})",
    R"({"training": {"model": {"heads": 3}}})",
    R"({"training": {"model": {"outputHeads": 2}}})",
    R"({"training": {"model": {"negativeSlope": 0.25}}})",
    R"({"training": {"model": {"attentionDropout": 0.5}}})",
    R"({"training": {"sampling": {"layers": []}}})",
    R"({"training": {"sampling": {"layers": [{}, {"fanout": 0}, {"edgeTypes": []}]}}})",
    R"({"training": {"sampling": {"layers": [{"edgeTypes": [{"type": "r", "fanout": 0}]},
                                             {"fanout": 0, "edgeTypes": [{"type": "r", "fanout": -1}]}]}}})",
    R"({"training": {"sampling": {"replace": true}}})",
    R"({"training": {"sampling": {"weight": "w"}}})",
    R"({"training": {"sampling": {"method": "Labor"}}})",
    R"({"training": {"sampling": {"method": "Last"}}})",
    R"({"training": {"sampling": {"layerDependency": true}}})",
    R"({"training": {"sampling": {"expand": "Once"}}})",
    R"({"training": {"sampling": {"seedTime": "at"}}})",
    R"({"training": {"precision": "BF16"}})",
    R"({"training": {"optimizer": {"momentum": 0.5}}})",
    R"({"training": {"optimizer": {"type": "SGD", "momentum": 0.5}}})",
    // Rules that relate fields of different objects, or that one value violates only together with another.
    R"({"graph": {"partitions": {"algorithm": "Streaming", "objective": "CommunicationVolume"}}})",
    R"({"graph": {"partitions": {"count": 4096}}, "servers": {"containersPerPod": 16, "replicasPerPartition": 2}})",
    R"({"graph": {"partitions": {"count": 4096}}, "servers": {"containersPerPod": 16, "replicasPerPartition": 1}})",
    R"({"graph": {"partitions": {"algorithm": "Random", "balance": ["Edges"]}}})",
    R"({"graph": {"partitions": {"algorithm": "Multilevel", "balance": ["Edges"]}}})",
    R"({"graph": {"partitions": {"algorithm": "Multilevel"}}, "partitioner": {"replicas": 2}})",
    R"({"graph": {"partitions": {"algorithm": "Streaming", "balance": ["Edges"]}}, "partitioner": {"replicas": 2}})",
    R"({"graph": {"partitions": {"algorithm": "Streaming", "balance": ["Edges"]},
                  "preprocess": {"dropDuplicateEdges": true}}, "partitioner": {"replicas": 2}})",
    R"({"graph": {"partitions": {"algorithm": "Streaming"}}, "partitioner": {"memory": "8Gi", "replicas": 2}})",
    R"({"graph": {"partitions": {"algorithm": "Streaming"}, "preprocess": {"featureDtype": "F16"}},
        "partitioner": {"memory": "8Gi"}})",
    R"({"graph": {"partitions": {"sourceColumns": ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m",
                                                   "n", "o", "p"]}}, "training": {"sampling": {"method": "Labor"}}})",
    R"({"graph": {"partitions": {"sourceColumns": ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n",
                                                   "o", "original_id"]}}, "training": {"sampling": {"method": "Labor"}}})",
    R"({"trainers": {"replicas": 4, "maxReplicas": 3}})",
    R"({"trainers": {"replicas": 4, "minReplicas": 4, "maxReplicas": 4}})",
    R"({"trainers": {"replicas": 4, "minReplicas": 3, "containersPerPod": 2}})",
    R"({"trainers": {"replicas": 3, "containersPerPod": 2}})",
    R"({"samplers": {"replicas": 1}, "training": {"task": {"negatives": {"count": 257}}, "batchSize": 65536,
                                                  "model": {"hiddenSize": 2}}})",
    R"({"samplers": {"replicas": 1}, "training": {"task": {"negatives": {"count": 256}}, "batchSize": 65536,
                                                  "model": {"hiddenSize": 2}}})",
    R"({"training": {"task": {"negatives": {"count": 65536}}, "batchSize": 65537, "model": {"hiddenSize": 2}},
        "trainers": {"replicas": 16}})",
    R"({"training": {"task": {"negatives": {"type": "InBatch", "count": 4}}, "batchSize": 4}})",
    R"({"training": {"task": {"edgeTypes": ["r", "s"], "edgeType": "r"}}})",
    R"({"training": {"task": {"edgeTypes": ["r", "s"], "reverseEdgeType": "rev_r"}}})",
    R"({"training": {"epochs": 0, "model": {"type": "TorchScript", "uri": "s3://data/m"}}})",
    R"({"checkpoint": {"resumeFrom": "s3://data/c"}, "training": {"epochs": 0, "model": {"type": "TorchScript"}}})",
    R"({"training": {"epochs": 0, "model": {"type": "TorchScript", "uri": "s3://data/m"},
                     "inputs": [{"embedding": {"size": 4}}]}})",
    R"({"checkpoint": {"resumeFrom": "s3://data/c"}, "training": {"model": {"uri": "s3://data/m"}}})",
};

// Draws numbers that are the same on every machine: a linear congruential generator (Knuth, MMIX).
class Draws {
 public:
  size_t Below(size_t limit) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<size_t>((state_ >> 33) % limit);
  }

 private:
  uint64_t state_ = 1;
};

// Returns the violations of the document's rules, after the stages of ParseJob before them.
std::vector<RuleViolation> FindViolations(const CaseJson& document, const std::string& name) {
  std::vector<YamlError> errors;
  const YamlNode tree = ReadYaml(document.dump(), 0, {}, &errors);
  Violations violations({""});
  CheckedDocument checked = CheckFields(tree, ReadBy::kOperator, SpecTraining::kUnlessProgram, &violations);
  EXPECT_TRUE(errors.empty()) << name;
  EXPECT_TRUE(violations.empty()) << name << ": " << violations.ToStatus().ToString();
  if (!errors.empty() || !violations.empty()) return {};
  FillDependentDefaults(ReadBy::kOperator, &checked.values);
  const DistTraining job = ToDistTraining(checked.values);
  return FindRuleViolations({job, checked.values}, ReadBy::kOperator);
}

// Returns whether the document has the required fields of spec.training after the change.
bool CanChange(const CaseJson& spec, const CaseJson& change) {
  return spec.contains("training") || !change.contains("training");
}

RuleCase MakeCase(const BaseDocument& base, const std::vector<CaseJson>& changes) {
  RuleCase one;
  CaseJson spec = CaseJson::parse(base.spec);
  one.name = base.name;
  for (const CaseJson& change : changes) {
    spec.merge_patch(change);
    one.name += " " + change.dump();
  }
  one.document = {{"apiVersion", "espalier.io/v1alpha1"},
                  {"kind", "DistTraining"},
                  {"metadata", {{"name", "rules"}}},
                  {"spec", std::move(spec)}};
  one.violations = FindViolations(one.document, one.name);
  return one;
}

}  // namespace

std::vector<RuleCase> MakeRuleCases() {
  std::vector<RuleCase> cases;
  Draws draws;
  for (const BaseDocument& base : kBases) {
    std::vector<CaseJson> possible;
    for (const char* text : kChanges) {
      CaseJson change = CaseJson::parse(text);
      if (CanChange(CaseJson::parse(base.spec), change)) possible.push_back(std::move(change));
    }
    cases.push_back(MakeCase(base, {}));
    for (const CaseJson& change : possible) cases.push_back(MakeCase(base, {change}));
    for (int i = 0; i < kCombinations; ++i) {
      std::vector<CaseJson> changes;
      for (size_t count = 2 + draws.Below(3); changes.size() < count;) {
        changes.push_back(possible[draws.Below(possible.size())]);
      }
      cases.push_back(MakeCase(base, changes));
    }
  }
  return cases;
}

}  // namespace espalier::job
