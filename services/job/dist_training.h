// The DistTraining document as a C++ value, for `espalier run -f` and the operator. Fields are named as in the
// document, which docs/disttraining.md describes. enum_names.h has the names of the enum values, except those of the
// sampler's enums, which are in sampler/spec. parse.h fills in defaults and validates once, so code that receives a
// DistTraining need not repeat its checks. The initial value of a member is the default of its field in documents
// (fields/field_table.h), unless the member's comment gives another default.
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
enum class FeatureDType { kSource, kF32, kF16, kBf16, kI8 };   // Source | F32 | F16 | BF16 | I8
enum class PartitionAlgorithm { kMetis, kMultilevel, kRandom, kStreaming, kExternal };
enum class PartitionObjective { kEdgeCut, kCommunicationVolume };
enum class PartitionBalance { kNodeTypes, kTrainNodes, kEdges };
enum class PartitionReuse { kIfPresent, kNever };
enum class TaskType { kNodeClassification, kNodeRegression, kEdgeClassification, kEdgeRegression, kLinkPrediction };
enum class ExcludeEdges { kNone, kSelf, kReverseEdges };  // None | Self | ReverseEdges
enum class Scorer { kDot, kDistMult, kComplEx, kTransE, kRotatE };
enum class LinkLoss { kBinaryCrossEntropy, kCrossEntropy };
enum class ModelType { kGraphSage, kRgcn, kGcn, kGat, kGatv2, kEmbedding, kTorchScript };  // GraphSAGE | ...
enum class Aggregator { kMean, kGcn, kPool };
enum class LayerNormalization { kNone, kLayer, kBatch };  // None | Layer | Batch
enum class OptimizerType { kAdam, kAdamW, kSgd };         // Adam | AdamW | SGD
enum class RowDType { kF32, kF16, kBf16 };                // F32 | F16 | BF16
enum class RowInitializerType { kUniform, kNormal, kXavierUniform, kZeros, kPlugin };
enum class SparseOptimizerType { kAdagrad, kRowWiseAdagrad, kAdam, kAdamW, kSgd };
enum class DuplicateGradients { kSum, kMean };
enum class ScheduleType { kConstant, kLinear, kCosine, kStep };  // after warmupSteps
enum class Precision { kF32, kBf16 };                            // F32 | BF16
enum class Metric { kAccuracy, kMacroF1, kMicroF1, kRocAuc, kMeanSquaredError, kMeanAbsoluteError, kMrr, kHitsAtK };
enum class EvaluationNeighborhood { kFull, kSampled };
enum class OutputKind { kModel, kEmbeddings, kPredictions, kTorchScript };
enum class TlsMode { kDisabled, kManaged, kSecretRef };
enum class Device { kAuto, kCpu, kCuda };  // Auto | CPU | CUDA

// Returns whether the task is edge classification or regression, whose seeds are labeled edges.
constexpr bool LabelsEdges(TaskType type) {
  return type == TaskType::kEdgeClassification || type == TaskType::kEdgeRegression;
}
// Returns whether the seeds of the task are edges: LabelsEdges, or link prediction.
constexpr bool HasEdgeSeeds(TaskType type) { return LabelsEdges(type) || type == TaskType::kLinkPrediction; }

constexpr bool IsAttention(ModelType type) { return type == ModelType::kGat || type == ModelType::kGatv2; }

struct S3Storage {
  std::string endpoint;            // "https://s3.example.com"; empty: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL or AWS
  std::string region;              // empty: AWS_REGION, AWS_DEFAULT_REGION or us-east-1
  std::string credentials_secret;  // Kubernetes Secret; only on a cluster: elsewhere the environment has credentials
  friend bool operator==(const S3Storage&, const S3Storage&) = default;
};

struct GraphSource {
  std::string uri;
  GraphFormat format = GraphFormat::kOgb;
  friend bool operator==(const GraphSource&, const GraphSource&) = default;
};

struct Preprocess {
  bool add_reverse_edges = false;
  bool drop_self_loops = false;
  bool drop_duplicate_edges = false;
  RowNormalization normalize_features = RowNormalization::kNone;
  FeatureDType feature_dtype = FeatureDType::kSource;
  friend bool operator==(const Preprocess&, const Preprocess&) = default;
};

struct Partitions {
  uint32_t count = 1;
  PartitionAlgorithm algorithm = PartitionAlgorithm::kMetis;
  PartitionObjective objective = PartitionObjective::kEdgeCut;
  std::vector<PartitionBalance> balance;
  PartitionReuse reuse = PartitionReuse::kIfPresent;
  std::string uri;             // empty: <output.uri>/partitions
  std::string assignment_uri;  // for External
  // Node columns whose values are copied from source nodes to their out-edges; with `sampling.method: Labor` they
  // include "original_id".
  std::vector<std::string> source_columns;
  friend bool operator==(const Partitions&, const Partitions&) = default;
};

struct Graph {
  GraphSource source;
  std::string time_column;  // edge column by which in-edges are sorted; empty: none
  Preprocess preprocess;
  Partitions partitions;
  friend bool operator==(const Graph&, const Graph&) = default;
};

struct Task {
  TaskType type = TaskType::kNodeClassification;
  std::string node_type;  // empty: the only one
  std::string label;      // a node column, or an edge column if LabelsEdges; default of documents: "node-label"
  std::string split;
  bool multi_label = false;
  // EdgeClassification and EdgeRegression: edges that sampling excludes from the neighborhoods of a batch.
  ExcludeEdges exclude = ExcludeEdges::kNone;
  // EdgeClassification, EdgeRegression and LinkPrediction:
  std::string edge_type;             // "a:r:b" or "r"; empty: the only type, or for LinkPrediction edge_types
  std::string reverse_edge_type;     // type of edge_type's reverse edges; empty: that of addReverseEdges, if it is set
  bool reverse_edges_added = false;  // graph.preprocess.addReverseEdges
  // LinkPrediction:
  std::vector<std::string> edge_types;  // instead of edge_type; both empty: all edge types
  sampler::NegativeKind negatives = sampler::NegativeKind::kUniform;
  int64_t num_negatives = 1;  // per edge
  Scorer scorer = Scorer::kDot;
  LinkLoss loss = LinkLoss::kBinaryCrossEntropy;
  friend bool operator==(const Task&, const Task&) = default;
};

struct LearningRateSchedule {
  ScheduleType type = ScheduleType::kConstant;
  int64_t warmup_steps = 0;
  int64_t step_epochs = 10;  // Step: number of epochs between multiplications by `factor`
  double factor = 0.1;
  friend bool operator==(const LearningRateSchedule&, const LearningRateSchedule&) = default;
};

struct RowInitializer {
  RowInitializerType type = RowInitializerType::kUniform;
  double low = -1, high = 1;       // Uniform
  double mean = 0, deviation = 1;  // Normal
  std::string plugin = {};         // Plugin: initializer of a server plugin, as in "rows/sinusoids"
  std::string arguments = {};      // Plugin
  friend bool operator==(const RowInitializer&, const RowInitializer&) = default;
};

struct SparseOptimizer {
  SparseOptimizerType type = SparseOptimizerType::kAdagrad;
  double learning_rate = 0.01;
  double weight_decay = 0;
  DuplicateGradients duplicates = DuplicateGradients::kSum;
  double initial_accumulator = 0;  // Adagrad, RowWiseAdagrad
  friend bool operator==(const SparseOptimizer&, const SparseOptimizer&) = default;
};

// The learnable rows of a node type.
struct Embedding {
  int64_t size = 0;
  RowDType dtype = RowDType::kF32;
  RowInitializer initializer;
  SparseOptimizer optimizer;
  LearningRateSchedule schedule;
  friend bool operator==(const Embedding&, const Embedding&) = default;
};

struct Input {
  std::string node_type;               // empty: the only one
  std::vector<std::string> features;   // columns, concatenated in this order; may be empty with an embedding
  std::optional<Embedding> embedding;  // concatenated after the features
  friend bool operator==(const Input&, const Input&) = default;
};

struct Model {
  // Model file to start training from, or for inference with epochs = 0; for TorchScript, the module. Empty: new model.
  std::string uri;
  ModelType type = ModelType::kGraphSage;
  Aggregator aggregator = Aggregator::kMean;
  int64_t hidden_size = 64;
  double dropout = 0.5;
  LayerNormalization normalization = LayerNormalization::kNone;
  int64_t num_bases = 0;  // R-GCN; 0: one weight per relation
  // GAT and GATv2:
  int64_t heads = 1;         // heads of hidden layers, concatenated: hidden_size / heads outputs each
  int64_t output_heads = 1;  // heads of the last layer, which computes their mean
  double negative_slope = 0.2;
  double attention_dropout = 0;
  friend bool operator==(const Model&, const Model&) = default;
};

struct EdgeTypeFanout {
  std::string type;  // "a:r:b" or "r"
  int32_t fanout = 0;
  friend bool operator==(const EdgeTypeFanout&, const EdgeTypeFanout&) = default;
};
struct SamplingLayer {
  std::optional<int32_t> fanout;  // of edge types not in edge_types; -1: all in-edges; nullopt: they are not sampled
  std::vector<EdgeTypeFanout> edge_types;
  friend bool operator==(const SamplingLayer&, const SamplingLayer&) = default;
};
struct Sampling {
  std::vector<SamplingLayer> layers;  // beginning with the model's first layer; empty for kEmbedding
  sampler::DrawSpec draw;             // draw.time_column is graph.time_column if seed_time is set, else empty
  std::string seed_time;              // node column of the task's node type; empty: sampling ignores time
  friend bool operator==(const Sampling&, const Sampling&) = default;
};

struct Optimizer {
  OptimizerType type = OptimizerType::kAdam;
  double learning_rate = 0.01;
  double weight_decay = 0;
  double momentum = 0;  // SGD
  friend bool operator==(const Optimizer&, const Optimizer&) = default;
};

struct Evaluation {
  int64_t every_epochs = 1;
  Metric metric = Metric::kAccuracy;  // default of documents: depends on the task
  EvaluationNeighborhood neighborhood = EvaluationNeighborhood::kFull;
  int64_t patience = 0;  // earlyStopping.patience, in evaluations; 0: never
  // LinkPrediction:
  int64_t candidates = 0;  // number of nodes that an edge's destination is ranked against; 0: all nodes
  bool filtered = true;    // ignore candidates to which the source has an edge of the same type in the split
  int64_t k = 10;          // HitsAtK
  friend bool operator==(const Evaluation&, const Evaluation&) = default;
};

struct Checkpoint {
  // Triggers of a checkpoint, joined by "or". With all three zero, a checkpoint is written only at SIGTERM.
  int64_t every_epochs = 0;
  int64_t every_steps = 0;
  // Default of documents: 600 if no trigger is set.
  std::chrono::seconds every{0};
  int64_t keep = 2;         // number of newest complete checkpoints to keep, in addition to the best one
  std::string resume_from;  // URI of another run's checkpoint, or folder of checkpoints; the run's own take precedence
  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

struct Training {
  Task task;
  std::vector<Input> inputs;
  Model model;
  Sampling sampling;
  int64_t batch_size = 1024;  // seeds of one step, all trainers together
  int64_t epochs = 10;
  uint64_t seed = 0;
  Optimizer optimizer;
  LearningRateSchedule schedule;
  Precision precision = Precision::kF32;  // of the layers' matrix products
  Evaluation evaluation;
  friend bool operator==(const Training&, const Training&) = default;
};

// Returns the largest number of negatives in one trainer's share of a step: ceil(batch_size / num_trainers) edges with
// num_negatives each.
constexpr int64_t NegativesOfShare(const Training& training, int64_t num_trainers) {
  return (training.batch_size + num_trainers - 1) / num_trainers * training.task.num_negatives;
}

// Limits of one trainer's share of a step: negatives, and values of the negatives' embeddings.
inline constexpr int64_t kMaxNegativesOfTrainer = int64_t{1} << 28;
inline constexpr int64_t kMaxNegativeValuesOfTrainer = int64_t{1} << 32;  // 16 GiB in F32

// Returns the limit of NegativesOfShare: kMaxNegativesOfTrainer, or fewer if the embeddings of the negatives, `width`
// values each, would have more than kMaxNegativeValuesOfTrainer values. kJoint has only the first limit, because its
// edges share negatives.
constexpr int64_t MaxNegativesOfShare(sampler::NegativeKind kind, int64_t width) {
  constexpr int64_t kMaxNegatives = kMaxNegativesOfTrainer, kMaxValues = kMaxNegativeValuesOfTrainer;
  return kind == sampler::NegativeKind::kJoint || width < kMaxValues / kMaxNegatives ? kMaxNegatives
                                                                                     : kMaxValues / width;
}

// The limit of kInDegree negatives in a step of all trainers together: every trainer fetches all of them.
inline constexpr int64_t kMaxInDegreeNegatives = int64_t{1} << 24;

// The limit of NegativesOfShare if a sampler process draws the negatives (messages::ServiceLimits::max_rows).
inline constexpr int64_t kMaxNegativesOfSampler = int64_t{1} << 24;

// Returns the names of the edge types of link prediction, in ascending order; empty for all types of the graph.
inline std::vector<std::string> EdgeTypeNames(const Task& task) {
  if (!task.edge_type.empty()) return {task.edge_type};
  std::vector<std::string> names = task.edge_types;
  std::sort(names.begin(), names.end());
  return names;
}

// Returns whether any node type has learnable rows.
inline bool HasEmbeddings(const Training& training) {
  for (const Input& input : training.inputs) {
    if (input.embedding.has_value()) return true;
  }
  return false;
}

inline constexpr uint32_t kMaxContainersPerPod = 16;
// The limit of server processes of a job: rpc::kMaxAddresses, the number of addresses that clients accept.
inline constexpr uint32_t kMaxServerProcesses = 65536;

// A shared library with user functions that graph servers load (docs/server-plugins.md).
struct ServerPlugin {
  std::string name;
  std::string path;  // on the server's host or in its container; without commas
  friend bool operator==(const ServerPlugin&, const ServerPlugin&) = default;
};

// A file that a program's interpreter runs, or an archive that contains it (docs/programs.md#a-script). It is at `uri`
// or in a ConfigMap.
struct Script {
  std::string uri;
  std::string config_map;  // name of the ConfigMap; empty: the script is at `uri`
  std::string key;         // key in the ConfigMap
  std::string sha256;      // 64 hexadecimal digits; empty: the digest that the file has when the job first reads it
  std::string entrypoint;  // file to run, as a path in the archive; empty: the script is a single file

  // Returns the last part of `uri`, or `key`.
  std::string FileName() const;
  // Returns the path of the file to run, relative to the folder of the script.
  std::string MainFile() const { return entrypoint.empty() ? FileName() : entrypoint; }
  // Returns the origin of the script for messages: the URI, or "ConfigMap NAME, key KEY".
  std::string Describe() const;
  friend bool operator==(const Script&, const Script&) = default;
};

// Returns whether a file name has the extension of an archive: .tar, .tar.gz, .tgz or .zip.
bool IsArchiveName(std::string_view name);

// A user program that runs instead of the built-in trainers (docs/programs.md).
struct Program {
  std::vector<std::string> command;  // the program and its first arguments; may be empty only with a script
  std::vector<std::string> args;     // arguments after those of `command` and after the path of the script
  std::optional<Script> script;

  // Returns `command` (python3 if it is empty) followed by the path of the script below `script_folder`; without a
  // script, `command` alone.
  std::vector<std::string> CommandWords(const std::string& script_folder) const;
  // Returns the complete command line: CommandWords and `args`.
  std::vector<std::string> Words(const std::string& script_folder = "") const;
  friend bool operator==(const Program&, const Program&) = default;
};

// A trainer's cache of feature rows of other machines (docs/large-graphs.md).
struct FeatureCache {
  uint64_t memory_bytes = 0;         // in each trainer
  uint32_t steps = 32;               // number of steps to sample ahead
  uint64_t shared_memory_bytes = 0;  // on each machine, for rows that its trainers share; 0: they share none
  uint64_t device_memory_bytes = 0;  // on each trainer's GPU; 0: the GPU holds no rows
  friend bool operator==(const FeatureCache&, const FeatureCache&) = default;
};

struct DistTraining {
  std::string name;
  S3Storage s3;
  Graph graph;
  Training training;
  bool has_training = true;  // false: the document has no spec.training (parse.h)
  Checkpoint checkpoint;
  uint32_t partitioner_replicas = 1;      // processes that partition the graph together
  uint64_t partitioner_memory_bytes = 0;  // memory limit of the partitioner; 0: as much as the graph needs
  uint32_t server_replicas_per_partition = 1;
  uint32_t server_containers_per_pod = 1;  // processes per replica; they share one copy of the partition
  std::vector<ServerPlugin> server_plugins;
  uint32_t sampler_replicas = 0;  // 0: trainers sample in threads of their own
  uint32_t trainer_replicas = 1;
  int trainer_threads = 1;
  Device trainer_device = Device::kCpu;
  uint32_t trainer_containers_per_pod = 1;    // trainers per pod; used only on a cluster
  uint32_t trainer_gpus = 0;                  // GPUs per trainer; used only on a cluster
  std::optional<FeatureCache> feature_cache;  // nullopt: trainers keep no rows
  std::optional<Program> program;             // spec.trainers.program; nullopt: the built-in trainers
  std::string output_uri;
  std::vector<OutputKind> output_save;  // default of documents: Model, Embeddings, Predictions
  std::string output_nodes_uri;  // folder with one `<node type>.npy` of original ids per node type; empty: all nodes
  // Default of documents: Disabled under `espalier run`, else Managed.
  TlsMode tls = TlsMode::kDisabled;
  std::string tls_secret;                   // SecretRef
  int64_t backoff_limit = 3;                // number of counted failures that are retried; the next one fails the run
  std::chrono::seconds active_deadline{0};  // 0: none
  friend bool operator==(const DistTraining&, const DistTraining&) = default;
};

// Returns the memory on each machine for feature rows that its trainers share, in bytes; 0: they share none.
inline uint64_t SharedRowBytes(const DistTraining& job) {
  return job.feature_cache.has_value() ? job.feature_cache->shared_memory_bytes : 0;
}

// Returns whether spec.output.save contains `kind`.
inline bool Saves(const DistTraining& job, OutputKind kind) {
  return std::find(job.output_save.begin(), job.output_save.end(), kind) != job.output_save.end();
}

}  // namespace espalier::job
