// Rules are grouped by part of the document. A rule stands at an object that contains all its fields, which are written
// relative to `self`. An API server evaluates it after it has filled in the defaults of the schema; optional fields
// without a default need has(). AddRules inserts the rules into the schema.
#include "operator/schema/rules.h"

#include "services/base/check.h"
#include "services/job/dist_training.h"
#include "services/job/fields/field_table.h"
#include "services/sampler/spec/draw_spec.h"

namespace espalier::ctl::schema {
namespace {

// Returns a rule at spec that also holds if spec.training is absent, as is possible for a job with a program.
std::string OfTraining(const std::string& cel) { return "!has(self.training) || (" + cel + ")"; }

std::string IsUnset(const std::string& field, bool unset) { return (unset ? "" : "!") + field; }
std::string IsUnset(const std::string& field, const std::string&) { return "!has(" + field + ")"; }
template <sampler::Spelled E>
std::string IsUnset(const std::string& field, E unset) {
  return field + " == '" + ToString(unset) + "'";
}

// Returns a condition at spec.training: all options of sampling have their defaults.
std::string NoDrawOptions() {
  const sampler::DrawSpec unset;
  std::string cel;
  sampler::VisitOptions(unset, [&](const sampler::OptionText& text, const auto& option) {
    cel += (cel.empty() ? "" : " && ") + IsUnset(std::string("self.sampling.") + text.name, option);
  });
  return cel;
}

std::vector<Rule> GraphRules() {
  const std::string partitions = "spec.graph.partitions";
  return {
      {partitions, "self.algorithm != 'External' || has(self.assignmentUri)",
       "External needs spec.graph.partitions.assignmentUri", "algorithm"},
      {partitions, "self.algorithm == 'External' || !has(self.assignmentUri)",
       "only the algorithm External takes an assignment", "assignmentUri"},
      {partitions, "self.algorithm == 'METIS' || self.objective != 'CommunicationVolume'",
       "only METIS can minimize the communication volume", "objective"},
      {partitions, "self.algorithm in ['METIS', 'Streaming'] || size(self.balance) == 0",
       "Random and External cannot balance anything but nodes: leave it out", "balance"},
  };
}

// Options that are not possible with several partitioners, each of which has a part of the graph.
std::vector<Rule> PartitionerRules() {
  const std::string alone = "self.partitioner.replicas == 1 || ";
  const std::string otherwise = ", or 1 in spec.partitioner.replicas";
  return {
      {"spec", alone + "self.graph.partitions.algorithm != 'METIS'",
       "METIS needs the whole graph in one process: choose Streaming, Random or External" + otherwise,
       "graph.partitions.algorithm"},
      {"spec",
       alone + "!('Edges' in self.graph.partitions.balance) || !(self.graph.preprocess.dropSelfLoops || "
               "self.graph.preprocess.addReverseEdges || self.graph.preprocess.dropDuplicateEdges || "
               "(has(self.training) && self.training.task.type == 'LinkPrediction'))",
       "several partitioners balance Edges only of a graph whose edges they leave as they are: leave Edges out" +
           otherwise,
       "graph.partitions.balance"},
  };
}

std::vector<Rule> ServerRules() {
  return {
      {"spec",
       "self.graph.partitions.count * self.servers.replicasPerPartition * self.servers.containersPerPod <= " +
           std::to_string(job::kMostServerProcesses),
       "partitions times replicas times containers are more than " + std::to_string(job::kMostServerProcesses) +
           " processes",
       "servers.containersPerPod"},
  };
}

// Condition on a learning rate schedule: options that only the type Step uses have their defaults with other types.
constexpr char kStepAlone[] = "self.type == 'Step' || (self.stepEpochs == 10 && self.factor == 0.1)";

std::vector<Rule> TrainingRules() {
  const std::string training = "spec.training";
  const std::string layer = "spec.training.sampling.layers[]";
  const std::string negatives =  // of one trainer in a step
      "(self.training.batchSize + self.trainers.replicas - 1) / self.trainers.replicas * "
      "self.training.task.negatives.count";
  return {
      {training, "self.task.type in ['NodeClassification', 'EdgeClassification'] || !self.task.multiLabel",
       "only for NodeClassification and EdgeClassification", "task.multiLabel"},
      {training,
       "!has(self.evaluation.metric) || (self.task.type == 'LinkPrediction' ? self.evaluation.metric in ['MRR', "
       "'HitsAtK', 'ROCAUC'] : !(self.evaluation.metric in ['MRR', 'HitsAtK']) && (self.task.type in "
       "['NodeRegression', 'EdgeRegression']) == (self.evaluation.metric in ['MeanSquaredError', "
       "'MeanAbsoluteError']))",
       "does not measure this task: choose MeanSquaredError | MeanAbsoluteError for regressions, MRR | HitsAtK | "
       "ROCAUC for LinkPrediction, else Accuracy | MacroF1 | MicroF1 | ROCAUC",
       "evaluation.metric"},
      {training,
       "self.task.type == 'LinkPrediction' || !(has(self.task.edgeTypes) || has(self.task.negatives) || "
       "has(self.task.scorer) || has(self.task.loss))",
       "edgeTypes, negatives, scorer and loss are only for LinkPrediction", "task"},
      {training, "!has(self.task.edgeTypes) || !has(self.task.edgeType)",
       "edgeType names one edge type, edgeTypes several: leave out one of them", "task.edgeTypes"},
      {training, "!has(self.task.edgeTypes) || !has(self.task.reverseEdgeType)",
       "the reverse of one edge type: name it in edgeType", "task.reverseEdgeType"},
      {training,
       "self.task.type == 'LinkPrediction' || !(has(self.evaluation.candidates) || has(self.evaluation.filtered) || "
       "has(self.evaluation.k))",
       "candidates, filtered and k are only for LinkPrediction", "evaluation"},
      {training, "!has(self.evaluation.k) || (has(self.evaluation.metric) && self.evaluation.metric == 'HitsAtK')",
       "only for the metric HitsAtK", "evaluation.k"},
      {training, "self.task.type != 'LinkPrediction' || !has(self.task.nodeType)",
       "LinkPrediction is of edges: name edgeType", "task.nodeType"},
      {training,
       "self.task.type != 'LinkPrediction' || !has(self.evaluation.metric) || self.evaluation.metric != 'ROCAUC' || "
       "(has(self.evaluation.candidates) && self.evaluation.candidates > 0)",
       "ROCAUC needs at least 1: so many negatives for each edge", "evaluation.candidates"},
      {training, "self.task.type != 'LinkPrediction' || self.evaluation.neighborhood == 'Full'",
       "LinkPrediction is evaluated over full neighborhoods: choose Full", "evaluation.neighborhood"},
      {training,
       "!has(self.task.scorer) || !(self.task.scorer in ['ComplEx', 'RotatE']) || self.model.hiddenSize % 2 == 0",
       "ComplEx and RotatE need an even size: their numbers are complex", "model.hiddenSize"},
      {training,
       "!has(self.task.negatives) || !has(self.task.negatives.type) || self.task.negatives.type != 'InBatch' || "
       "!has(self.task.negatives.count) || self.task.negatives.count < self.batchSize",
       "InBatch takes them from the batch: choose a number below batchSize", "task.negatives.count"},
      {training,
       "!has(self.task.negatives) || !has(self.task.negatives.type) || self.task.negatives.type != 'InDegree' || "
       "!has(self.task.negatives.count) || self.batchSize * self.task.negatives.count <= 16777216",
       "each trainer fetches InDegree's of the whole step: batchSize times count is at most 16777216",
       "task.negatives.count"},
      {"spec",
       OfTraining("self.training.task.type != 'LinkPrediction' || !has(self.graph.partitions.balance) || "
                  "!('TrainNodes' in self.graph.partitions.balance)"),
       "TrainNodes balances a split of nodes, LinkPrediction has one of edges", "graph.partitions.balance"},
      {training, "self.task.type != 'LinkPrediction' || !has(self.sampling.seedTime)",
       "a column of nodes says nothing of when an edge was: leave it out", "sampling.seedTime"},
      {"spec",
       OfTraining("self.samplers.replicas == 0 || !has(self.training.task.negatives) || "
                  "!has(self.training.task.negatives.count) || " +
                  negatives + " <= 16777216"),
       "a sampler draws at most 16777216 for one trainer's step: use fewer, a smaller batchSize, more trainers, or no "
       "samplers",
       "training.task.negatives.count"},
      {"spec",
       OfTraining("!has(self.training.task.negatives) || !has(self.training.task.negatives.count) || (" + negatives +
                  " <= 268435456 && ((has(self.training.task.negatives.type) && self.training.task.negatives.type == "
                  "'Joint') || " +
                  negatives + " * self.training.model.hiddenSize <= 4294967296))"),
       "more embeddings of a step's negatives than fit a trainer: use fewer, a smaller batchSize, more trainers, or "
       "Joint, which shares them",
       "training.task.negatives.count"},
      {training, "size(self.inputs) == 1 || self.inputs.all(input, has(input.nodeType))",
       "nodeType may be left out only when there is one entry", "inputs"},
      {training,
       "self.inputs.all(one, !has(one.nodeType) || self.inputs.exists_one(other, has(other.nodeType) && "
       "other.nodeType == one.nodeType))",
       "a second entry for a node type", "inputs"},
      {"spec.training.inputs[]", "has(self.features) || has(self.embedding)", "expected features, embedding or both",
       "", "FieldValueRequired"},
      {"spec.training.inputs[].embedding",
       "self.optimizer.type in ['Adagrad', 'RowWiseAdagrad'] || self.optimizer.initialAccumulator == 0.0",
       "only for Adagrad and RowWiseAdagrad", "optimizer.initialAccumulator"},
      {"spec.training.inputs[].embedding", "self.initializer.low <= self.initializer.high", "is above initializer.high",
       "initializer.low"},
      {"spec.training.inputs[].embedding",
       "self.initializer.type == 'Uniform' || (self.initializer.low == -1.0 && self.initializer.high == 1.0)",
       "low and high are only for the type Uniform", "initializer"},
      {"spec.training.inputs[].embedding",
       "self.initializer.type == 'Normal' || (self.initializer.mean == 0.0 && self.initializer.deviation == 1.0)",
       "mean and deviation are only for the type Normal", "initializer"},
      {"spec.training.inputs[].embedding", "self.initializer.type != 'Plugin' || has(self.initializer.plugin)",
       "Plugin needs initializer.plugin", "initializer.type"},
      {"spec.training.inputs[].embedding",
       "self.initializer.type == 'Plugin' || !(has(self.initializer.plugin) || (has(self.initializer.arguments) && "
       "self.initializer.arguments != ''))",
       "plugin and arguments are only for the type Plugin", "initializer"},
      {"spec",
       OfTraining("self.training.inputs.all(input, !has(input.embedding) || !has(input.embedding.initializer.plugin) "
                  "|| (has(self.servers.plugins) && self.servers.plugins.exists(plugin, "
                  "input.embedding.initializer.plugin.startsWith(plugin.name + '/'))))"),
       "an initializer is of no plugin of spec.servers.plugins", "training.inputs"},
      {"spec.training.inputs[].embedding.learningRateSchedule", kStepAlone,
       "stepEpochs and factor are only for the type Step", ""},
      {training + ".learningRateSchedule", kStepAlone, "stepEpochs and factor are only for the type Step", ""},
      {training, "self.epochs > 0 || has(self.model.uri)",
       "0 epochs need a model to apply: set spec.training.model.uri, or train for at least 1", "epochs"},
      {training,
       "self.epochs > 0 || self.model.type != 'TorchScript' || !self.inputs.exists(input, has(input.embedding))",
       "0 epochs apply a module to learnable rows that nothing has learned: train for at least 1, or resume from a "
       "checkpoint, which holds them, with as many epochs as it has",
       "epochs"},
      {"spec.training.model", "self.type == 'RGCN' || self.numBases == 0", "only for RGCN", "numBases"},
      {"spec.training.model", "self.type == 'GraphSAGE' || self.aggregator == 'Mean'", "only for GraphSAGE",
       "aggregator"},
      {training, "self.model.type == 'Embedding' || size(self.sampling.layers) > 0",
       "expected at least 1: only the model Embedding has none", "sampling.layers"},
      {training, "self.model.type != 'Embedding' || size(self.sampling.layers) == 0",
       "the model Embedding reads no neighbors: write []", "sampling.layers"},
      {training, "self.model.type != 'Embedding' || (" + NoDrawOptions() + ")",
       "the model Embedding draws nothing: leave all but layers: [] out", "sampling"},
      {training, "self.model.type != 'Embedding' || self.task.type == 'LinkPrediction'",
       "Embedding is for LinkPrediction: it has no outputs for other tasks", "model.type"},
      {"spec.training.model", "self.type != 'Embedding' || self.normalization == 'None'",
       "Embedding has no hidden layers", "normalization"},
      {"spec.training.model", "self.type != 'TorchScript' || self.hiddenSize == 64",
       "not for TorchScript: the module has its own", "hiddenSize"},
      {"spec.training.model", "self.type != 'TorchScript' || self.dropout == 0.5",
       "not for TorchScript: the module has its own", "dropout"},
      {"spec.training.model", "self.type != 'TorchScript' || self.normalization == 'None'",
       "not for TorchScript: the module has its own", "normalization"},
      {"spec.training.model", "self.type in ['GAT', 'GATv2'] || self.heads == 1", "only for GAT and GATv2", "heads"},
      {"spec.training.model", "self.type in ['GAT', 'GATv2'] || self.outputHeads == 1", "only for GAT and GATv2",
       "outputHeads"},
      {"spec.training.model", "self.type in ['GAT', 'GATv2'] || self.negativeSlope == 0.2", "only for GAT and GATv2",
       "negativeSlope"},
      {"spec.training.model", "self.type in ['GAT', 'GATv2'] || self.attentionDropout == 0.0", "only for GAT and GATv2",
       "attentionDropout"},
      {"spec.training.model", "!(self.type in ['GAT', 'GATv2']) || self.hiddenSize % self.heads == 0",
       "is not divisible by heads: it is the width of all heads together", "hiddenSize"},
      {"spec.training.model", "self.type != 'TorchScript' || has(self.uri)", "TorchScript needs the module's file",
       "uri"},
      {layer, "has(self.fanout) || (has(self.edgeTypes) && size(self.edgeTypes) > 0)",
       "expected fanout, edgeTypes or both", "", "FieldValueRequired"},
      {layer,
       "!(has(self.fanout) || has(self.edgeTypes)) || (has(self.fanout) && self.fanout != 0) || (has(self.edgeTypes) "
       "&& self.edgeTypes.exists(edge_type, edge_type.fanout != 0))",
       "draws no neighbors at all: a fan-out must be above 0, or -1 for all", ""},
      {"spec.training.optimizer", "self.type == 'SGD' || self.momentum == 0.0", "only for SGD", "momentum"},
  };
}

// Rules on EdgeClassification and EdgeRegression.
std::vector<Rule> EdgeLabelRules() {
  const std::string training = "spec.training";
  const std::string nodes = "!(self.task.type in ['EdgeClassification', 'EdgeRegression']) || ";
  const std::string spec_of_nodes = "!(self.training.task.type in ['EdgeClassification', 'EdgeRegression']) || ";
  return {
      {training,
       "!(self.task.type in ['NodeClassification', 'NodeRegression']) || !(has(self.task.edgeType) || "
       "has(self.task.reverseEdgeType))",
       "edgeType and reverseEdgeType are only for tasks on edges", "task"},
      {training, "self.task.type in ['EdgeClassification', 'EdgeRegression'] || !has(self.task.exclude)",
       "only for EdgeClassification and EdgeRegression", "task.exclude"},
      {training, nodes + "!has(self.task.nodeType)", "labels are those of edges: name edgeType", "task.nodeType"},
      {training, nodes + "self.task.label != 'node-label'", "name the edge column with the labels", "task.label"},
      {"spec",
       OfTraining("!has(self.training.task.exclude) || self.training.task.exclude != 'ReverseEdges' || "
                  "has(self.training.task.reverseEdgeType) || (has(self.graph.preprocess) && "
                  "has(self.graph.preprocess.addReverseEdges) && self.graph.preprocess.addReverseEdges)"),
       "which are they? Name reverseEdgeType, or set graph.preprocess.addReverseEdges", "training.task.exclude"},
      {training, nodes + "self.evaluation.neighborhood == 'Full'",
       "labels of edges are evaluated over full neighborhoods: choose Full", "evaluation.neighborhood"},
      {training, nodes + "self.epochs > 0 || self.model.type != 'TorchScript'",
       "a TorchScript module brings no head for edges: train for at least 1", "epochs"},
      {"spec",
       OfTraining(spec_of_nodes +
                  "!has(self.graph.partitions.balance) || !('TrainNodes' in self.graph.partitions.balance)"),
       "TrainNodes balances a split of nodes, and the task's is one of edges", "graph.partitions.balance"},
      {training, nodes + "!has(self.sampling.seedTime)",
       "a column of nodes says nothing of when an edge was: leave it out", "sampling.seedTime"},
  };
}

std::vector<Rule> SamplingRules() {
  const std::string sampling = "spec.training.sampling";
  const std::string timed = "!has(self.training) || !has(self.training.sampling.seedTime) || ";
  return {
      {sampling, "self.method == 'Neighbor' || !self.replace", "Labor and Last draw without replacement only",
       "replace"},
      {sampling, "self.method == 'Labor' || !self.layerDependency", "only for Labor", "layerDependency"},
      {"spec", OfTraining("self.training.sampling.method != 'Last' || has(self.graph.timeColumn)"),
       "Last needs in-edges in the order of time: set spec.graph.timeColumn", "training.sampling.method"},
      {"spec", timed + "has(self.graph.timeColumn)", "needs in-edges in the order of time: set spec.graph.timeColumn",
       "training.sampling.seedTime"},
      {"spec", timed + "self.training.model.type != 'GCN'", "not with the model GCN, whose degrees know later edges",
       "training.sampling.seedTime"},
      {"spec", timed + "self.training.evaluation.neighborhood == 'Sampled'",
       "Full would see edges that are later than a node's time: with spec.training.sampling.seedTime set it to Sampled",
       "training.evaluation.neighborhood"},
      {"spec", timed + "!has(self.output.save) || self.output.save.all(kind, kind in ['Model', 'TorchScript'])",
       "Embeddings and Predictions are computed from full neighborhoods, later edges included: leave them out with "
       "spec.training.sampling.seedTime",
       "output.save"},
  };
}

std::vector<Rule> RunRules() {
  return {
      {"spec",
       OfTraining("!has(self.checkpoint.resumeFrom) || !has(self.training.model.uri) || self.training.model.type == "
                  "'TorchScript'"),
       "a checkpoint brings its model: leave out spec.training.model.uri", "checkpoint.resumeFrom"},
      {"spec",
       OfTraining("!has(self.checkpoint.resumeFrom) || self.training.model.type != 'TorchScript' || "
                  "self.training.epochs > 0"),
       "0 epochs apply the module as its file has it: leave it out", "checkpoint.resumeFrom"},
      {"spec",
       OfTraining("!has(self.training.model.uri) || self.training.model.type == 'TorchScript' || "
                  "!self.training.inputs.exists(input, has(input.embedding))"),
       "learnable rows are not part of model files", "training.model.uri"},
      {"spec", "has(self.output.uri)", "on a cluster a run keeps its checkpoints and results there", "output.uri",
       "FieldValueRequired"},
      {"spec.trainers", "!has(self.minReplicas) || self.minReplicas <= self.replicas",
       "is above spec.trainers.replicas", "minReplicas"},
      {"spec.trainers", "!has(self.maxReplicas) || self.maxReplicas >= self.replicas",
       "is below spec.trainers.replicas", "maxReplicas"},
      {"spec.tls", "!has(self.mode) || self.mode != 'SecretRef' || has(self.secretName)",
       "SecretRef needs spec.tls.secretName", "mode"},
      {"spec.tls", "!has(self.secretName) || (has(self.mode) && self.mode == 'SecretRef')",
       "only the mode SecretRef takes a Secret", "secretName"},
  };
}

std::vector<Rule> ProgramRules() {
  return {
      {"spec", "has(self.training) || has(self.trainers.program)",
       "is missing: only a program of the user's (spec.trainers.program) goes without it", "training",
       "FieldValueRequired"},
      {"spec", "has(self.training) || self.samplers.replicas == 0",
       "sampler processes draw what spec.training.sampling says, and there is none", "samplers.replicas"},
      {"spec.trainers.program", "has(self.command) || has(self.script)",
       "expected the program and its arguments, or a script", "command", "FieldValueRequired"},
      {"spec.trainers.program", "!has(self.command) || size(self.command) == 0 || self.command[0] != ''",
       "the first word is the program: expected one that is not empty", "command"},
      {"spec", "!has(self.trainers.program) || !has(self.checkpoint.resumeFrom)",
       "a program goes on from what it has saved itself: leave it out", "checkpoint.resumeFrom"},
      {"spec", "!has(self.trainers.program) || !has(self.output.nodesUri)",
       "a program decides itself what it writes: leave it out", "output.nodesUri"},
  };
}

// The checks of services/job/checks/script_checks.cc.
std::vector<Rule> ScriptRules() {
  const std::string script = "spec.trainers.program.script";
  const std::string file = "(has(self.uri) ? self.uri : has(self.configMapKeyRef) ? self.configMapKeyRef.key : '')";
  const std::string is_archive = file + R"(.matches('\\.(tar|tar\\.gz|tgz|zip)$'))";
  const std::string main =
      "(has(self.script.entrypoint) ? self.script.entrypoint : has(self.script.uri) ? self.script.uri : "
      "has(self.script.configMapKeyRef) ? self.script.configMapKeyRef.key : '.py')";
  return {
      {script, "has(self.uri) != has(self.configMapKeyRef)", "expected either uri or configMapKeyRef", ""},
      {script, "has(self.entrypoint) || !" + is_archive, "expected the path of the file in the archive that is run",
       "entrypoint", "FieldValueRequired"},
      {script, "!has(self.entrypoint) || (!has(self.uri) && !has(self.configMapKeyRef)) || " + is_archive,
       "only an archive (*.tar, *.tar.gz, *.tgz, *.zip) has several files: leave it out", "entrypoint"},
      {script + ".uri", R"(self.matches('^[sS]3[aA]?://[^/]+/.*[^/]$'))",
       "on a cluster a script is one object: expected s3://bucket/key, or configMapKeyRef", ""},
      {script + ".sha256", "self.matches('^[0-9a-f]{64}$')",
       "expected 64 lower-case hexadecimal digits, as sha256sum prints them", ""},
      {script + ".entrypoint",
       R"(self.matches('^[^/\\\\[:cntrl:]]+(/[^/\\\\[:cntrl:]]+)*$') && !self.matches('(^|/)\\.\\.?(/|$)'))",
       "expected a relative path without empty, '.' or '..' parts and backslashes", ""},
      {"spec.trainers.program", "has(self.command) || !has(self.script) || " + main + ".endsWith('.py')",
       "only a script *.py is run by python3 without it", "command", "FieldValueRequired"},
  };
}

std::vector<Rule> EnvironmentRules() {
  std::vector<Rule> rules;
  for (const char* role : {"partitioner", "servers", "samplers", "trainers"}) {
    rules.push_back({std::string("spec.") + role + ".env[]", "!has(self.value) || !has(self.valueFrom)",
                     "has both value and valueFrom", ""});
  }
  return rules;
}

// The checks of services/job/checks/check_uris.cc, and that paths are absolute (operator/api/check_cluster.cc).
constexpr char kUriRule[] =
    R"(self.matches('^(file:(//)?)?/([^/]|$)') || (self.matches('^[sS]3[aA]?://[A-Za-z0-9][-._A-Za-z0-9]{1,253}[A-Za-z0-9](/[^/]+)*/?$') && )"
    R"(!self.matches('/\\.\\.?(/|$)')))";
constexpr char kEndpointRule[] =
    R"(self.matches('^https?://(\\[[0-9a-fA-F:.]{3,45}\\]|[A-Za-z0-9._-]{1,253})(:[1-9][0-9]{0,4})?(/[A-Za-z0-9._~-]+)*/?$') && )"
    R"(!self.matches('/\\.\\.?(/|$)'))";
// The checks of services/job/checks/cross_checks.cc, and that paths are absolute (operator/api/check_cluster.cc).
constexpr char kPluginRule[] = R"(self.startsWith('/') && !self.matches('[,[:cntrl:]]'))";
constexpr char kControllerRule[] = R"(self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?/[A-Za-z0-9._-]+$'))";

// Limits the length of the prefix of an s3:// URI. The prefix starts after the first '/' at or after position 6:
// "s3a://" has 6 characters, and in "s3://" position 5 is the first character of the bucket.
Rule PrefixRule(const job::FieldSpec& field) {
  return {field.path,
          "!self.matches('^[sS]3[aA]?://') || self.indexOf('/', 6) < 0 || size(self) - self.indexOf('/', 6) <= " +
              std::to_string(field.max_prefix + 1),
          "the prefix of an s3:// URI has at most " + std::to_string(field.max_prefix) + " bytes: keys have at most " +
              std::to_string(job::kMaxKeyBytes) + ", and what is kept under it needs the rest",
          ""};
}

}  // namespace

std::vector<Rule> RelationRules() {
  std::vector<Rule> rules;
  for (const std::vector<Rule>& part :
       {GraphRules(), PartitionerRules(), ServerRules(), TrainingRules(), EdgeLabelRules(), SamplingRules(), RunRules(),
        ProgramRules(), ScriptRules(), EnvironmentRules()}) {
    rules.insert(rules.end(), part.begin(), part.end());
  }
  return rules;
}

std::vector<Rule> PlaceRules() {
  std::vector<Rule> rules = {
      {"", "self.metadata.name.matches('^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$')",
       "expected a name of lower-case letters, digits and '-' that starts with a letter (at most 40): its children's "
       "names are made from it",
       "metadata.name"},
      {"spec.servers.plugins[].path", kPluginRule,
       "expected the absolute path of a file of the servers' image, or of a volume that spec.servers.template mounts, "
       "without commas",
       ""},
      {"spec.runPolicy.managedBy", kControllerRule, "expected a controller's name, domain/name", ""},
  };
  for (const job::FieldSpec& field : job::FieldTable()) {
    if (field.type == job::FieldType::kUri) {
      rules.push_back(
          {field.path, kUriRule, "expected s3://bucket/prefix, or an absolute path under a volumeMount", ""});
      // The schema limits the length of the whole URI.
      if (field.max_prefix < job::kMaxKeyBytes) rules.push_back(PrefixRule(field));
    } else if (field.type == job::FieldType::kEndpoint) {
      rules.push_back({field.path, kEndpointRule, "expected " + DescribeExpected(field), ""});
    }
  }
  return rules;
}

void AddRules(const std::vector<Rule>& rules, OrderedJson* document_schema) {
  for (const Rule& rule : rules) {
    OrderedJson* schema = FindField(document_schema, rule.at);
    ESPALIER_CHECK(schema != nullptr) << "a rule at " << rule.at << ", which is not in the table";
    OrderedJson validation = {{"rule", rule.cel}, {"message", rule.message}, {"reason", rule.reason}};
    if (!rule.field.empty()) validation["fieldPath"] = "." + rule.field;
    (*schema)["x-kubernetes-validations"].push_back(std::move(validation));
  }
}

}  // namespace espalier::ctl::schema
