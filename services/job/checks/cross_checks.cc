// RelationChecker has one method per topic, which adds violations with the path of the field to change and the remedy.
// The checks read the typed job with its defaults. They read the JSON values only to find out whether a field is in the
// document at all (RefuseFields), for fields that the typed job does not have (environments, replica limits), and for
// the size of a program's command line.
#include "services/job/checks/cross_checks.h"

#include <algorithm>

#include "services/job/checks/learning_checks.h"
#include "services/job/checks/placed_violations.h"
#include "services/job/checks/script_checks.h"
#include "services/job/enum_names.h"

namespace espalier::job {
namespace {

constexpr size_t kMostSourceColumns = 16;  // the same limit as in the field table
// The limit of spec.trainers.program as JSON. Pods get the document in a ConfigMap, which holds at most 1 MiB.
constexpr size_t kMaxProgramBytes = size_t{512} << 10;

class RelationChecker {
 public:
  RelationChecker(const CheckedDocument& document, PlacedViolations* violations)
      : document_(document), violations_(violations) {}

  void CheckPartitions(const Partitions& partitions) {
    const std::string path = "spec.graph.partitions";
    const bool external = partitions.algorithm == PartitionAlgorithm::kExternal;
    if (external && partitions.assignment_uri.empty()) {
      Add(path + ".algorithm", "External needs spec.graph.partitions.assignmentUri");
    }
    if (!external && !partitions.assignment_uri.empty()) {
      Add(path + ".assignmentUri", "only the algorithm External takes an assignment");
    }
    for (const auto& [field, what] : ConflictsWithAlgorithm(partitions)) Add(path + "." + field, what);
    if (partitions.source_columns.size() > kMostSourceColumns) {  // FillDependentDefaults may have added one
      Add(path + ".sourceColumns", "at most " + std::to_string(kMostSourceColumns) +
                                       " with original_id, which sampling.method Labor adds: leave one out");
    }
  }

  // Options that several partitioners, each with a part of the graph, do not support
  // (partitioner/group/group_partitioning.h).
  void CheckPartitioners(const DistTraining& job) {
    if (job.partitioner_replicas == 1) return;
    const std::string otherwise = ", or 1 in spec.partitioner.replicas";
    if (job.graph.partitions.algorithm == PartitionAlgorithm::kMetis) {
      Add("spec.graph.partitions.algorithm",
          "METIS needs the whole graph in one process: choose Streaming, Random or External" + otherwise);
    }
    const Preprocess& preprocess = job.graph.preprocess;
    const bool changes_edges = preprocess.add_reverse_edges || preprocess.drop_self_loops ||
                               preprocess.drop_duplicate_edges ||
                               (job.has_training && job.training.task.type == TaskType::kLinkPrediction);
    const std::vector<PartitionBalance>& balance = job.graph.partitions.balance;
    if (changes_edges && std::count(balance.begin(), balance.end(), PartitionBalance::kEdges) > 0) {
      Add("spec.graph.partitions.balance",
          "several partitioners balance Edges only of a graph whose edges they leave as they are: leave Edges out" +
              otherwise);
    }
  }

  void CheckTask(const Training& training) {
    const TaskType type = training.task.type;
    if (!LabelsEdges(type)) {
      RefuseFields("spec.training.task", {"exclude"}, "only for EdgeClassification and EdgeRegression");
    }
    if (type == TaskType::kLinkPrediction) return;  // see CheckLinkPrediction
    if (!LabelsEdges(type)) {
      RefuseFields("spec.training.task", {"edgeType", "reverseEdgeType"}, "only for tasks on edges");
    }
    RefuseFields("spec.training.task", {"edgeTypes", "negatives", "scorer", "loss"}, "only for LinkPrediction");
    RefuseFields("spec.training.evaluation", {"candidates", "filtered", "k"}, "only for LinkPrediction");
    const bool regression = type == TaskType::kNodeRegression || type == TaskType::kEdgeRegression;
    if (regression && training.task.multi_label) {
      Add("spec.training.task.multiLabel", "only for NodeClassification and EdgeClassification");
    }
    const Metric metric = training.evaluation.metric;
    const bool error_metric = metric == Metric::kMeanSquaredError || metric == Metric::kMeanAbsoluteError;
    const bool ranks = metric == Metric::kMrr || metric == Metric::kHitsAtK;
    if (error_metric != regression || ranks) {
      Add("spec.training.evaluation.metric",
          std::string(ToString(metric)) + " does not measure " + ToString(training.task.type) + ": choose " +
              (regression ? "MeanSquaredError | MeanAbsoluteError" : "Accuracy | MacroF1 | MicroF1 | ROCAUC"));
    }
  }

  // EdgeClassification and EdgeRegression.
  void CheckEdgeLabels(const DistTraining& job) {
    const Training& training = job.training;
    const Task& task = training.task;
    if (!LabelsEdges(task.type)) return;
    const std::string name = ToString(task.type);
    if (!task.node_type.empty()) Add("spec.training.task.nodeType", name + " is of edges: name edgeType");
    if (task.label == "node-label") Add("spec.training.task.label", "name the edge column with the labels");
    const bool has_reverse = !task.reverse_edge_type.empty() || task.reverse_edges_added;
    if (task.exclude == ExcludeEdges::kReverseEdges && !has_reverse) {
      Add("spec.training.task.exclude",
          "which are they? Name reverseEdgeType, or set graph.preprocess.addReverseEdges");
    }
    if (training.evaluation.neighborhood != EvaluationNeighborhood::kFull) {
      Add("spec.training.evaluation.neighborhood", name + " is evaluated over full neighborhoods: choose Full");
    }
    if (training.epochs == 0 && training.model.type == ModelType::kTorchScript) {
      Add("spec.training.epochs", "a TorchScript module brings no head for edges: train for at least 1");
    }
    const auto& balance = job.graph.partitions.balance;
    if (std::count(balance.begin(), balance.end(), PartitionBalance::kTrainNodes) > 0) {
      Add("spec.graph.partitions.balance", "TrainNodes balances a split of nodes, " + name + " has one of edges");
    }
    if (!training.sampling.seed_time.empty()) {
      Add("spec.training.sampling.seedTime", "a column of nodes says nothing of when an edge was: leave it out");
    }
  }

  void CheckLinkPrediction(const DistTraining& job) {
    const Training& training = job.training;
    const Task& task = training.task;
    const Evaluation& evaluation = training.evaluation;
    if (task.type != TaskType::kLinkPrediction) return;
    if (!task.node_type.empty()) Add("spec.training.task.nodeType", "LinkPrediction is of edges: name edgeType");
    if (task.multi_label) {
      Add("spec.training.task.multiLabel", "only for NodeClassification and EdgeClassification");
    }
    if (!task.edge_types.empty() && !task.edge_type.empty()) {
      Add("spec.training.task.edgeTypes", "edgeType names one edge type, edgeTypes several: leave out one of them");
    }
    if (!task.edge_types.empty() && !task.reverse_edge_type.empty()) {
      Add("spec.training.task.reverseEdgeType", "the reverse of one edge type: name it in edgeType");
    }
    const bool measures = evaluation.metric == Metric::kMrr || evaluation.metric == Metric::kHitsAtK ||
                          evaluation.metric == Metric::kRocAuc;
    if (!measures) {
      Add("spec.training.evaluation.metric",
          std::string(ToString(evaluation.metric)) + " does not measure LinkPrediction: choose MRR | HitsAtK | ROCAUC");
    }
    if (evaluation.metric != Metric::kHitsAtK) {
      RefuseFields("spec.training.evaluation", {"k"}, "only for the metric HitsAtK");
    }
    if (evaluation.metric == Metric::kRocAuc && evaluation.candidates == 0) {
      Add("spec.training.evaluation.candidates", "ROCAUC needs at least 1: so many negatives for each edge");
    }
    if (evaluation.neighborhood != EvaluationNeighborhood::kFull) {
      Add("spec.training.evaluation.neighborhood", "LinkPrediction is evaluated over full neighborhoods: choose Full");
    }
    const bool pairs = task.scorer == Scorer::kComplEx || task.scorer == Scorer::kRotatE;
    if (pairs && training.model.hidden_size % 2 != 0) {
      Add("spec.training.model.hiddenSize",
          std::string(ToString(task.scorer)) + " needs an even size: its numbers are complex");
    }
    if (task.negatives == sampler::NegativeKind::kInBatch && task.num_negatives >= training.batch_size) {
      Add("spec.training.task.negatives.count", "InBatch takes them from the batch: choose a number below batchSize (" +
                                                    std::to_string(training.batch_size) + ")");
    }
    const int64_t negatives = NegativesOfShare(training, job.trainer_replicas);
    const int64_t most = MostNegativesOfShare(task.negatives, training.model.hidden_size);
    if (negatives > most) {
      Add("spec.training.task.negatives.count",
          "more embeddings of a step's negatives than fit a trainer: " + std::to_string(negatives) + " of at most " +
              std::to_string(most) + "; use fewer, a smaller batchSize, more trainers, or Joint, which shares them");
    }
    if (task.negatives == sampler::NegativeKind::kInDegree &&
        training.batch_size * task.num_negatives > kMostInDegreeNegatives) {
      Add("spec.training.task.negatives.count",
          "each trainer fetches InDegree's of the whole step: batchSize times count is at most " +
              std::to_string(kMostInDegreeNegatives));
    }
    const auto& balance = job.graph.partitions.balance;
    if (std::count(balance.begin(), balance.end(), PartitionBalance::kTrainNodes) > 0) {
      Add("spec.graph.partitions.balance", "TrainNodes balances a split of nodes, LinkPrediction has one of edges");
    }
    if (!training.sampling.seed_time.empty()) {
      Add("spec.training.sampling.seedTime", "a column of nodes says nothing of when an edge was: leave it out");
    }
    if (job.sampler_replicas > 0 && negatives > kMostNegativesOfSampler) {
      Add("spec.training.task.negatives.count",
          "a sampler draws at most " + std::to_string(kMostNegativesOfSampler) +
              " for one trainer's step: use fewer, a smaller batchSize, more trainers, or no samplers");
    }
  }

  // Model files do not contain learnable rows, so a run that starts from a trained model would silently lose them. A
  // TorchScript module is allowed for training, since it is untrained and has no rows yet.
  void CheckModelBringsAll(const Training& training) {
    if (!HasEmbeddings(training) || training.model.uri.empty()) return;
    if (training.model.type != ModelType::kTorchScript) {
      Add("spec.training.model.uri", "learnable rows are not part of model files");
    } else if (training.epochs == 0) {
      Add("spec.training.epochs",
          "0 epochs apply a module to learnable rows that nothing has learned: train for at least 1, or resume from a "
          "checkpoint, which holds them, with as many epochs as it has");
    }
  }

  void CheckModel(const DistTraining& job) {
    const Model& model = job.training.model;
    if (model.type != ModelType::kRgcn && model.num_bases > 0) Add("spec.training.model.numBases", "only for RGCN");
    if (model.type != ModelType::kGraphSage && model.aggregator != Aggregator::kMean) {
      Add("spec.training.model.aggregator", "only for GraphSAGE");
    }
    CheckAttention(model);
    if (model.type == ModelType::kEmbedding) CheckEmbeddingModel(job.training);
    if (model.type != ModelType::kEmbedding && job.training.sampling.layers.empty()) {
      Add("spec.training.sampling.layers", "expected at least 1: only the model Embedding has none");
    }
    if (model.type == ModelType::kTorchScript) CheckModule(model);
    if (model.type == ModelType::kTorchScript && model.uri.empty()) {
      Add("spec.training.model.uri", "TorchScript needs the module's file");
    }
    if (job.training.epochs == 0 && model.uri.empty()) {
      Add("spec.training.epochs",
          "0 epochs need a model to apply: set spec.training.model.uri, or train for at least 1");
    }
    if (!job.checkpoint.resume_from.empty() && !model.uri.empty() && model.type != ModelType::kTorchScript) {
      Add("spec.checkpoint.resumeFrom", "a checkpoint brings its model: leave out spec.training.model.uri");
    }
    if (!job.checkpoint.resume_from.empty() && model.type == ModelType::kTorchScript && job.training.epochs == 0) {
      Add("spec.checkpoint.resumeFrom", "0 epochs apply the module as its file has it: leave it out");
    }
  }

  // The model Embedding has no message passing.
  void CheckEmbeddingModel(const Training& training) {
    const Sampling& sampling = training.sampling;
    const std::string path = "spec.training.sampling.";
    if (training.task.type != TaskType::kLinkPrediction) {
      Add("spec.training.model.type", "Embedding is for LinkPrediction: it has no outputs for other tasks");
    }
    if (!sampling.layers.empty()) Add(path + "layers", "the model Embedding reads no neighbors: write []");
    sampler::DrawSpec draw = sampling.draw;
    draw.time_column.clear();  // belongs to spec.graph
    if (draw != sampler::DrawSpec())
      Add("spec.training.sampling", "the model Embedding draws nothing: leave all but layers: [] out");
    if (training.model.normalization != LayerNormalization::kNone) {
      Add("spec.training.model.normalization", "Embedding has no hidden layers");
    }
  }

  // Options that a TorchScript module fixes itself.
  void CheckModule(const Model& model) {
    const Model defaults;
    const std::string path = "spec.training.model.";
    const char* const message = "not for TorchScript: the module has its own";
    if (model.hidden_size != defaults.hidden_size) Add(path + "hiddenSize", message);
    if (model.dropout != defaults.dropout) Add(path + "dropout", message);
    if (model.normalization != defaults.normalization) Add(path + "normalization", message);
  }

  void CheckAttention(const Model& model) {
    const std::string path = "spec.training.model.";
    if (IsAttention(model.type)) {
      if (model.hidden_size % model.heads != 0) {
        Add(path + "hiddenSize", "is not divisible by heads: found " + std::to_string(model.hidden_size) + " for " +
                                     std::to_string(model.heads) +
                                     " heads, expected the width of all heads together, such as " +
                                     std::to_string(model.heads * 8) + " for 8 columns a head");
      }
      return;
    }
    const Model defaults;
    if (model.heads != defaults.heads) Add(path + "heads", "only for GAT and GATv2");
    if (model.output_heads != defaults.output_heads) Add(path + "outputHeads", "only for GAT and GATv2");
    if (model.negative_slope != defaults.negative_slope) Add(path + "negativeSlope", "only for GAT and GATv2");
    if (model.attention_dropout != defaults.attention_dropout) Add(path + "attentionDropout", "only for GAT and GATv2");
  }

  void CheckTls(const DistTraining& job) {
    const bool needs_secret = job.tls == TlsMode::kSecretRef;
    if (needs_secret && job.tls_secret.empty()) Add("spec.tls.mode", "SecretRef needs spec.tls.secretName");
    if (!needs_secret && !job.tls_secret.empty()) {
      Add("spec.tls.secretName", "only the mode SecretRef takes a Secret");
    }
  }

  void CheckSampling(const Sampling& sampling) {
    for (size_t i = 0; i < sampling.layers.size(); ++i) {
      const SamplingLayer& layer = sampling.layers[i];
      const std::string path = "spec.training.sampling.layers[" + std::to_string(i) + "]";
      if (!layer.fanout.has_value() && layer.edge_types.empty()) {
        Add(path, "expected fanout, edgeTypes or both");
        continue;
      }
      const bool draws = layer.fanout.value_or(0) != 0 ||
                         std::any_of(layer.edge_types.begin(), layer.edge_types.end(),
                                     [](const EdgeTypeFanout& edge_type) { return edge_type.fanout != 0; });
      if (!draws) Add(path, "draws no neighbors at all: a fan-out must be above 0, or -1 for all");
    }
  }

  void CheckSamplingMethod(const DistTraining& job) {
    const Sampling& sampling = job.training.sampling;
    const std::string path = "spec.training.sampling";
    const std::string method = ToString(sampling.draw.method);
    if (sampling.draw.replace && sampling.draw.method != sampler::DrawMethod::kNeighbor) {
      Add(path + ".replace", method + " draws without replacement only");
    }
    if (sampling.draw.layer_dependency && sampling.draw.method != sampler::DrawMethod::kLabor) {
      Add(path + ".layerDependency", "only for Labor");
    }
    if (sampling.draw.method == sampler::DrawMethod::kLast && job.graph.time_column.empty()) {
      Add(path + ".method", "Last needs in-edges in the order of time: set spec.graph.timeColumn");
    }
    if (sampling.seed_time.empty()) return;
    if (job.graph.time_column.empty()) {
      Add(path + ".seedTime", "needs in-edges in the order of time: set spec.graph.timeColumn");
    }
    // GCN normalizes by degrees that count all edges of the graph, including later ones.
    if (job.training.model.type == ModelType::kGcn) {
      Add(path + ".seedTime", "not with the model GCN, whose degrees know later edges");
    }
    // Layer-wise inference computes one row per node, but temporal sampling needs one per node and time.
    if (job.training.evaluation.neighborhood == EvaluationNeighborhood::kFull) {
      Add("spec.training.evaluation.neighborhood",
          "Full would see edges that are later than a node's time: with " + path + ".seedTime set it to Sampled");
    }
    for (const OutputKind kind : job.output_save) {
      if (kind == OutputKind::kModel || kind == OutputKind::kTorchScript) continue;
      Add("spec.output.save", std::string(ToString(kind)) + " are computed from full neighborhoods, later edges " +
                                  "included: leave them out with " + path + ".seedTime");
    }
  }

  void CheckEnvironments() {
    for (const char* role : {"partitioner", "servers", "samplers", "trainers"}) {
      const auto& spec = document_.values.at("spec");
      const auto of_role = spec.find(role);
      const auto env = of_role == spec.end() ? spec.end() : of_role->find("env");
      if (of_role == spec.end() || env == of_role->end()) continue;
      for (size_t i = 0; i < env->size(); ++i) {
        if (!env->at(i).contains("value") || !env->at(i).contains("valueFrom")) continue;
        Add(std::string("spec.") + role + ".env[" + std::to_string(i) + "]", "has both value and valueFrom");
      }
    }
  }

  // For a document without spec.training.
  void CheckNothingIsTrained(const DistTraining& job) {
    if (job.sampler_replicas == 0) return;
    Add("spec.samplers.replicas", "sampler processes draw what spec.training.sampling says, and there is none");
  }

  void CheckServers(const DistTraining& job) {
    const uint64_t processes =
        uint64_t{job.graph.partitions.count} * job.server_replicas_per_partition * job.server_containers_per_pod;
    if (processes <= kMostServerProcesses) return;
    Add("spec.servers.containersPerPod", "partitions times replicas times containers are more than " +
                                             std::to_string(kMostServerProcesses) +
                                             " processes: " + std::to_string(processes));
  }

  // Servers receive the plugins as "name=path,name=path", so a path must not contain a comma.
  void CheckPlugins(const std::vector<ServerPlugin>& plugins) {
    for (size_t i = 0; i < plugins.size(); ++i) {
      const std::string path = "spec.servers.plugins[" + std::to_string(i) + "].path";
      if (plugins[i].path.empty()) Add(path, "expected the path of a shared library");
      const bool is_plain = std::none_of(plugins[i].path.begin(), plugins[i].path.end(),
                                         [](unsigned char c) { return c == ',' || c < ' ' || c == 0x7f; });
      if (!is_plain) Add(path, "has a comma or a character that cannot be printed: name the file otherwise");
    }
  }

  void CheckProgram(const DistTraining& job) {
    if (!job.program.has_value()) return;
    const std::string path = "spec.trainers.program.";
    if (job.program->command.empty()) {
      if (!job.program->script)
        Add(path + "command", "is missing: expected the program and its arguments, or a script");
    } else if (job.program->command.front().empty()) {
      Add(path + "command[0]", "the first word is the program: expected one that is not empty");
    }
    if (job.program->script) {
      for (const auto& [field, problem] : ScriptProblems(*job.program)) Add(path + field, problem);
    }
    CheckWords(job.program->command, path + "command");
    CheckWords(job.program->args, path + "args");
    const auto& words = document_.values.at("spec").at("trainers").at("program");
    const size_t size_bytes = words.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace).size();
    if (size_bytes > kMaxProgramBytes) {
      Add("spec.trainers.program", "has " + std::to_string(size_bytes) + " bytes as JSON: expected at most " +
                                       std::to_string(kMaxProgramBytes) +
                                       ", since a ConfigMap of at most 1 MiB brings pods the document: put long words "
                                       "into a file that the program reads");
    }
    if (!job.checkpoint.resume_from.empty()) {
      Add("spec.checkpoint.resumeFrom", "a program goes on from what it has saved itself: leave it out");
    }
    if (!job.output_nodes_uri.empty()) {
      Add("spec.output.nodesUri", "a program decides itself what it writes: leave it out");
    }
  }

  void CheckRoles(const DistTraining& job) {
    const auto& trainers = document_.values.at("spec").at("trainers");
    const auto limit = [&](const char* name, int64_t otherwise) { return trainers.value(name, otherwise); };
    if (limit("minReplicas", 1) > job.trainer_replicas) {
      Add("spec.trainers.minReplicas",
          "is above spec.trainers.replicas (" + std::to_string(job.trainer_replicas) + ")");
    }
    if (limit("maxReplicas", job.trainer_replicas) < job.trainer_replicas) {
      Add("spec.trainers.maxReplicas",
          "is below spec.trainers.replicas (" + std::to_string(job.trainer_replicas) + ")");
    }
  }

 private:
  void CheckWords(const std::vector<std::string>& words, const std::string& path) {
    for (size_t i = 0; i < words.size(); ++i) {
      if (words[i].find('\0') == std::string::npos) continue;
      Add(path + "[" + std::to_string(i) + "]", "has a NUL byte, at which a program's argument ends");
    }
  }

  void RefuseFields(const std::string& object_path, const std::vector<const char*>& names, const char* message) {
    violations_->RefuseFields(object_path, names, message);
  }
  void Add(const std::string& path, const std::string& message) { violations_->Add(path, message); }

  const CheckedDocument& document_;
  PlacedViolations* const violations_;
};

}  // namespace

std::vector<std::pair<std::string, std::string>> ConflictsWithAlgorithm(const Partitions& partitions) {
  std::vector<std::pair<std::string, std::string>> conflicts;
  const PartitionAlgorithm algorithm = partitions.algorithm;
  if (algorithm != PartitionAlgorithm::kMetis && partitions.objective == PartitionObjective::kCommunicationVolume) {
    conflicts.emplace_back("objective", "only METIS can minimize the communication volume");
  }
  const bool can_balance = algorithm == PartitionAlgorithm::kMetis || algorithm == PartitionAlgorithm::kStreaming;
  if (!partitions.balance.empty() && !can_balance) {
    conflicts.emplace_back("balance",
                           std::string(ToString(algorithm)) + " cannot balance anything but nodes: leave it out");
  }
  return conflicts;
}

void CheckRelations(const DistTraining& job, const CheckedDocument& document, Violations* violations) {
  PlacedViolations placed(document, violations);
  RelationChecker checker(document, &placed);
  checker.CheckPartitions(job.graph.partitions);
  checker.CheckPartitioners(job);
  if (job.has_training) {
    checker.CheckTask(job.training);
    checker.CheckEdgeLabels(job);
    checker.CheckLinkPrediction(job);
    CheckLearning(job.training, job.server_plugins, &placed);
    checker.CheckModelBringsAll(job.training);
    checker.CheckModel(job);
    checker.CheckSampling(job.training.sampling);
    checker.CheckSamplingMethod(job);
  } else {
    checker.CheckNothingIsTrained(job);
  }
  checker.CheckProgram(job);
  checker.CheckRoles(job);
  checker.CheckServers(job);
  checker.CheckPlugins(job.server_plugins);
  checker.CheckEnvironments();
  checker.CheckTls(job);
}

}  // namespace espalier::job
