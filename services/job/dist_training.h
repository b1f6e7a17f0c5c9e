// The DistTraining document as a value: what `espalier run -f` and the operator both read. Field names are the
// document's (docs/disttraining.md); enums are spelled there as here, and those of draws are the sampler's own
// (sampler/spec). Parsed, defaulted and validated once (parse.h); everything below may rely on what validation
// promises.
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/sampler/spec/draw_spec.h"
#include "services/sampler/spec/negative_kind.h"

namespace espalier::job {

enum class GraphFormat { kOgb, kNpy, kTriples, kDglChunked };  // OGB | NPY | Triples | DGLChunked
enum class RowNormalization { kNone, kRow };                   // None | Row
enum class PartitionAlgorithm { kMetis, kRandom, kStreaming, kExternal };
enum class PartitionObjective { kEdgeCut, kCommunicationVolume };
enum class PartitionBalance { kNodeTypes, kTrainNodes, kEdges };
enum class PartitionReuse { kIfPresent, kNever };
enum class TaskType { kNodeClassification, kNodeRegression, kEdgeClassification, kEdgeRegression, kLinkPrediction };
enum class ExcludeEdges { kNone, kSelf, kReverseEdges };  // None | Self | ReverseEdges
enum class Scorer { kDot, kDistMult, kComplEx, kTransE, kRotatE };
enum class LinkLoss { kBinaryCrossEntropy, kCrossEntropy };
enum class ModelType { kGraphSage, kRgcn, kGcn, kGat, kGatv2, kEmbedding, kTorchScript };  // GraphSAGE | ...
enum class Aggregator { kMean, kGcn, kPool };
enum class Activation { kRelu };
enum class LayerNormalization { kNone, kLayer, kBatch };  // None | Layer | Batch
enum class OptimizerType { kAdam, kAdamW, kSgd };         // Adam | AdamW | SGD
enum class RowDType { kF32, kF16, kBf16 };                // F32 | F16 | BF16
enum class RowInitializerType { kUniform, kNormal, kXavierUniform, kZeros, kPlugin };
enum class SparseOptimizerType { kAdagrad, kRowWiseAdagrad, kAdam, kAdamW, kSgd };
enum class DuplicateGradients { kSum, kMean };
enum class ScheduleType { kConstant, kLinear, kCosine, kStep };  // after warmupSteps
enum class Metric { kAccuracy, kMacroF1, kMicroF1, kRocAuc, kMeanSquaredError, kMeanAbsoluteError, kMrr, kHitsAtK };
enum class EvaluationNeighborhood { kFull, kSampled };
enum class OutputKind { kModel, kEmbeddings, kPredictions, kTorchScript };
enum class TlsMode { kDisabled, kManaged, kSecretRef };

// Edge classification and regression: the seeds are edges that have labels.
constexpr bool LabelsEdges(TaskType type) {
  return type == TaskType::kEdgeClassification || type == TaskType::kEdgeRegression;
}
// Those, and link prediction.
constexpr bool IsOfEdges(TaskType type) { return LabelsEdges(type) || type == TaskType::kLinkPrediction; }

constexpr bool IsAttention(ModelType type) { return type == ModelType::kGat || type == ModelType::kGatv2; }

struct S3Storage {
  std::string endpoint;            // "https://s3.example.com"; empty: AWS
  std::string region;              // empty: the environment's, then us-east-1
  std::string credentials_secret;  // Kubernetes secret; on a laptop the environment is used
};

struct GraphSource {
  std::string uri;
  GraphFormat format = GraphFormat::kOgb;
};

struct Preprocess {
  bool add_reverse_edges = false;
  bool drop_self_loops = false;
  bool drop_duplicate_edges = false;
  RowNormalization normalize_features = RowNormalization::kNone;
};

struct Partitions {
  uint32_t count = 1;
  PartitionAlgorithm algorithm = PartitionAlgorithm::kMetis;
  PartitionObjective objective = PartitionObjective::kEdgeCut;
  std::vector<PartitionBalance> balance;
  PartitionReuse reuse = PartitionReuse::kIfPresent;
  std::string uri;             // empty: <output.uri>/partitions
  std::string assignment_uri;  // for External
  // Node columns that in-edges get a copy of, their source's; with `sampling.method: Labor` "original_id" is one.
  std::vector<std::string> source_columns;
};

struct Graph {
  GraphSource source;
  std::string time_column;  // edge column; in-edges are ordered by it first; empty: none
  Preprocess preprocess;
  Partitions partitions;
};

struct Task {
  TaskType type = TaskType::kNodeClassification;
  std::string node_type;  // empty: the only one
  std::string label;      // a column of nodes, or of edges
  std::string split;
  bool multi_label = false;
  // EdgeClassification and EdgeRegression: what neighbours of a step's edges are drawn without.
  ExcludeEdges exclude = ExcludeEdges::kNone;
  // Those and LinkPrediction:
  std::string edge_type;             // "a:r:b" or "r"; empty: the only one; of LinkPrediction edge_types, or every one
  std::string reverse_edge_type;     // whose edges are the same ones with their ends swapped; empty: addReverseEdges'
  bool reverse_edges_added = false;  // graph.preprocess.addReverseEdges
  // LinkPrediction:
  std::vector<std::string> edge_types;  // several of them; edge_type is empty then
  sampler::NegativeKind negatives = sampler::NegativeKind::kUniform;
  int64_t num_negatives = 1;  // for each edge
  Scorer scorer = Scorer::kDot;
  LinkLoss loss = LinkLoss::kBinaryCrossEntropy;
};

struct LearningRateSchedule {
  ScheduleType type = ScheduleType::kConstant;
  int64_t warmup_steps = 0;
  int64_t step_epochs = 10;  // Step: every so many epochs ...
  double factor = 0.1;       // ... times this
};

struct RowInitializer {
  RowInitializerType type = RowInitializerType::kUniform;
  double low = -1, high = 1;       // Uniform
  double mean = 0, deviation = 1;  // Normal
  std::string plugin = {};         // Plugin: "rows/sinusoids", of a plugin of the servers
  std::string arguments = {};      // Plugin
};

struct SparseOptimizer {
  SparseOptimizerType type = SparseOptimizerType::kAdagrad;
  double learning_rate = 0.01;
  double weight_decay = 0;
  DuplicateGradients duplicates = DuplicateGradients::kSum;
  double initial_accumulator = 0;  // Adagrad, RowWiseAdagrad
};

// Learnable rows of a node type.
struct Embedding {
  int64_t size = 0;
  RowDType dtype = RowDType::kF32;
  RowInitializer initializer;
  SparseOptimizer optimizer;
  LearningRateSchedule schedule;
};

struct Input {
  std::string node_type;               // empty: the only one
  std::vector<std::string> features;   // concatenated; may be empty where there is an embedding
  std::optional<Embedding> embedding;  // behind the features
};

struct Model {
  // A model file to start from, or (epochs: 0) to infer with; for TorchScript the module itself. Empty: a new model.
  std::string uri;
  ModelType type = ModelType::kGraphSage;
  Aggregator aggregator = Aggregator::kMean;
  int64_t hidden_size = 64;
  double dropout = 0.5;
  LayerNormalization normalization = LayerNormalization::kNone;
  int64_t num_bases = 0;  // R-GCN; 0: one weight per relation
  // GAT and GATv2
  int64_t heads = 1;         // of hidden layers, side by side: hidden_size / heads columns each
  int64_t output_heads = 1;  // of the last layer, which takes their mean
  double negative_slope = 0.2;
  double attention_dropout = 0;
};

struct EdgeTypeFanout {
  std::string type;  // "a:r:b" or "r"
  int32_t fanout = 0;
};
struct SamplingLayer {
  std::optional<int32_t> fanout;  // of every relation not named below; -1: all
  std::vector<EdgeTypeFanout> edge_types;
};
struct Sampling {
  std::vector<SamplingLayer> layers;  // the first is the model's first layer; none for kEmbedding
  sampler::DrawSpec draw;             // its time column is the graph's, with seed_time alone
  std::string seed_time;              // node column of the task's type; empty: time does not matter
};

struct Optimizer {
  OptimizerType type = OptimizerType::kAdam;
  double learning_rate = 0.01;
  double weight_decay = 0;
  double momentum = 0;  // SGD
};

struct Evaluation {
  int64_t every_epochs = 1;
  Metric metric = Metric::kAccuracy;
  EvaluationNeighborhood neighborhood = EvaluationNeighborhood::kFull;
  int64_t patience = 0;  // earlyStopping.patience, in evaluations; 0: never
  // LinkPrediction:
  int64_t candidates = 0;  // that an edge's destination is ranked among, besides itself; 0: every node
  bool filtered = true;    // candidates that are destinations of other edges of the split do not count
  int64_t k = 10;          // HitsAtK
};

// When the state of a run is saved; the triggers are joined by "or". All zero: only when asked to stop.
struct Checkpoint {
  int64_t every_epochs = 0;
  int64_t every_steps = 0;
  std::chrono::seconds every{0};
  int64_t keep = 2;         // newest complete ones; the best is kept besides
  std::string resume_from;  // URI of a checkpoint or of a folder of checkpoints; empty: the run's own newest
};

struct Training {
  Task task;
  std::vector<Input> inputs;
  Model model;
  Sampling sampling;
  int64_t batch_size = 1024;  // global
  int64_t epochs = 10;
  uint64_t seed = 0;
  Optimizer optimizer;
  LearningRateSchedule schedule;
  Evaluation evaluation;
};

// Negatives of one trainer's share of a step: batchSize / trainers, rounded up, times their count.
constexpr int64_t NegativesOfShare(const Training& training, int64_t num_trainers) {
  return (training.batch_size + num_trainers - 1) / num_trainers * training.task.num_negatives;
}

// How many there may be: 2^28, and unless edges share them, 2^32 numbers of their embeddings (16 GiB).
constexpr int64_t MostNegativesOfShare(sampler::NegativeKind kind, int64_t width) {
  constexpr int64_t kMost = int64_t{1} << 28, kMostNumbers = int64_t{1} << 32;
  return kind == sampler::NegativeKind::kJoint || width < kMostNumbers / kMost ? kMost : kMostNumbers / width;
}

// Of a step, all trainers together: each of them fetches all of them.
inline constexpr int64_t kMostInDegreeNegatives = int64_t{1} << 24;

// Of one trainer's step, where a sampler process draws them (messages::ServiceLimits::max_rows).
inline constexpr int64_t kMostNegativesOfSampler = int64_t{1} << 24;

// The edge types of link prediction, ascending; empty: every one.
inline std::vector<std::string> EdgeTypeNames(const Task& task) {
  if (!task.edge_type.empty()) return {task.edge_type};
  std::vector<std::string> names = task.edge_types;
  std::sort(names.begin(), names.end());
  return names;
}

// True where some node type has learnable rows.
inline bool HasEmbeddings(const Training& training) {
  for (const Input& input : training.inputs) {
    if (input.embedding.has_value()) return true;
  }
  return false;
}

inline constexpr uint32_t kMostContainersPerPod = 16;
// Server processes of a job: clients are told of no more addresses.
inline constexpr uint32_t kMostServerProcesses = 65536;

// A shared library that graph servers load: functions of the user's (docs/server-plugins.md).
struct ServerPlugin {
  std::string name;
  std::string path;  // seen from where the server runs; no comma in it
};

// A file that a program's interpreter runs, or an archive with it (docs/programs.md#a-script). It lies at `uri`, or in
// a ConfigMap.
struct Script {
  std::string uri;
  std::string config_map;  // the ConfigMap's name; empty: at `uri`
  std::string key;         // of the ConfigMap
  std::string sha256;      // of the file's or archive's bytes, 64 hexadecimal digits; empty: of what is found first
  std::string entrypoint;  // the archive's file that is run; empty: `uri` or `key` is the file itself

  // Returns the last part of `uri`, or `key`.
  std::string FileName() const;
  // Returns the path of the file that is run, in the folder that the script is put into.
  std::string MainFile() const { return entrypoint.empty() ? FileName() : entrypoint; }
  // Returns where it comes from, for messages: the URI, or "ConfigMap NAME, key KEY".
  std::string Describe() const;
};

// Returns whether a file's name ends as that of an archive does: .tar, .tar.gz, .tgz or .zip.
bool IsArchiveName(std::string_view name);

// A user's program in the place of Espalier's trainers (docs/programs.md).
struct Program {
  std::vector<std::string> command;  // the program and its first arguments; empty only with a script
  std::vector<std::string> args;     // after those, and after the script
  std::optional<Script> script;

  // Returns `command` with the path of the script, which is in `script_folder`. Without a command, python3 runs it.
  std::vector<std::string> CommandWords(const std::string& script_folder) const;
  // Returns the whole command line.
  std::vector<std::string> Words(const std::string& script_folder = "") const;
};

struct DistTraining {
  std::string name;
  S3Storage s3;
  Graph graph;
  Training training;
  bool has_training = true;  // false: the document says nothing of it, and a user's program is run (parse.h)
  Checkpoint checkpoint;
  uint32_t partitioner_replicas = 1;  // processes that cut the graph together
  uint32_t server_replicas_per_partition = 1;
  uint32_t server_containers_per_pod = 1;  // processes of each of them, over one copy of the partition
  std::vector<ServerPlugin> server_plugins;
  uint32_t sampler_replicas = 0;  // 0: threads in the trainers
  uint32_t trainer_replicas = 1;
  int trainer_threads = 1;
  std::optional<Program> program;  // spec.trainers.program; unset: Espalier's trainers
  std::string output_uri;
  std::vector<OutputKind> output_save;
  std::string output_nodes_uri;  // folder with a `<node type>.npy` of original ids each; empty: all nodes
  TlsMode tls = TlsMode::kDisabled;
  std::string tls_secret;                   // of SecretRef
  int64_t backoff_limit = 3;                // counted failures that are retried; one more and the run has failed
  std::chrono::seconds active_deadline{0};  // 0: none
};

}  // namespace espalier::job
