// One call of Read or ReadList converts each field, by its JSON key. A missing field keeps the default of the struct; a
// missing object reads as an empty one (Child). CheckFields has checked types, ranges and enum names, so conversions
// cannot fail. A name that the field table lists but the C++ enum lacks aborts the process.
#include "services/job/parsing/to_training.h"

#include "services/base/check.h"
#include "services/job/enum_names.h"
#include "services/job/text/scalars.h"

namespace espalier::job {
namespace {

using Json = nlohmann::ordered_json;

// Sets *out to the field `key` if `object` has it. The field table guarantees the type of the value.
template <class T>
void Read(const Json& object, const char* key, T* out) {
  const auto found = object.find(key);
  if (found == object.end()) return;
  if constexpr (std::is_enum_v<T>) {
    ESPALIER_CHECK(ParseName(found->template get<std::string>(), out)) << key << " has a value the table does not list";
  } else {
    *out = found->template get<T>();
  }
}

template <class T>
void ReadList(const Json& object, const char* key, std::vector<T>* out) {
  const auto found = object.find(key);
  if (found == object.end()) return;
  out->clear();
  for (const Json& item : *found) {
    T value{};
    if constexpr (std::is_enum_v<T>) {
      ESPALIER_CHECK(ParseName(item.get<std::string>(), &value)) << key << " has a value the table does not list";
    } else {
      value = item.get<T>();
    }
    out->push_back(std::move(value));
  }
}

const Json& Child(const Json& object, const char* key) {
  static const Json* const kNothing = new Json(Json::object());
  const auto found = object.find(key);
  return found == object.end() ? *kNothing : *found;
}

Graph ToGraph(const Json& json) {
  Graph graph;
  Read(Child(json, "source"), "uri", &graph.source.uri);
  Read(Child(json, "source"), "format", &graph.source.format);
  Read(json, "timeColumn", &graph.time_column);
  const Json& preprocess = Child(json, "preprocess");
  Read(preprocess, "addReverseEdges", &graph.preprocess.add_reverse_edges);
  Read(preprocess, "dropSelfLoops", &graph.preprocess.drop_self_loops);
  Read(preprocess, "dropDuplicateEdges", &graph.preprocess.drop_duplicate_edges);
  Read(preprocess, "normalizeFeatures", &graph.preprocess.normalize_features);
  Read(preprocess, "featureDtype", &graph.preprocess.feature_dtype);
  const Json& partitions = Child(json, "partitions");
  Read(partitions, "count", &graph.partitions.count);
  Read(partitions, "algorithm", &graph.partitions.algorithm);
  Read(partitions, "objective", &graph.partitions.objective);
  ReadList(partitions, "balance", &graph.partitions.balance);
  Read(partitions, "reuse", &graph.partitions.reuse);
  Read(partitions, "uri", &graph.partitions.uri);
  Read(partitions, "assignmentUri", &graph.partitions.assignment_uri);
  ReadList(partitions, "sourceColumns", &graph.partitions.source_columns);
  return graph;
}

Task ToTask(const Json& json) {
  Task task;
  Read(json, "type", &task.type);
  Read(json, "nodeType", &task.node_type);
  Read(json, "label", &task.label);
  Read(json, "split", &task.split);
  Read(json, "multiLabel", &task.multi_label);
  Read(json, "exclude", &task.exclude);
  Read(json, "edgeType", &task.edge_type);
  ReadList(json, "edgeTypes", &task.edge_types);
  Read(json, "reverseEdgeType", &task.reverse_edge_type);
  Read(Child(json, "negatives"), "type", &task.negatives);
  Read(Child(json, "negatives"), "count", &task.num_negatives);
  Read(json, "scorer", &task.scorer);
  Read(json, "loss", &task.loss);
  return task;
}

LearningRateSchedule ToSchedule(const Json& json) {
  LearningRateSchedule schedule;
  Read(json, "type", &schedule.type);
  Read(json, "warmupSteps", &schedule.warmup_steps);
  Read(json, "stepEpochs", &schedule.step_epochs);
  Read(json, "factor", &schedule.factor);
  return schedule;
}

Embedding ToEmbedding(const Json& json) {
  Embedding embedding;
  Read(json, "size", &embedding.size);
  Read(json, "dtype", &embedding.dtype);
  const Json& initializer = Child(json, "initializer");
  Read(initializer, "type", &embedding.initializer.type);
  Read(initializer, "low", &embedding.initializer.low);
  Read(initializer, "high", &embedding.initializer.high);
  Read(initializer, "mean", &embedding.initializer.mean);
  Read(initializer, "deviation", &embedding.initializer.deviation);
  Read(initializer, "plugin", &embedding.initializer.plugin);
  Read(initializer, "arguments", &embedding.initializer.arguments);
  const Json& optimizer = Child(json, "optimizer");
  Read(optimizer, "type", &embedding.optimizer.type);
  Read(optimizer, "learningRate", &embedding.optimizer.learning_rate);
  Read(optimizer, "weightDecay", &embedding.optimizer.weight_decay);
  Read(optimizer, "duplicates", &embedding.optimizer.duplicates);
  Read(optimizer, "initialAccumulator", &embedding.optimizer.initial_accumulator);
  embedding.schedule = ToSchedule(Child(json, "learningRateSchedule"));
  return embedding;
}

std::vector<Input> ToInputs(const Json& json) {
  std::vector<Input> inputs;
  for (const Json& item : json) {
    Input& input = inputs.emplace_back();
    Read(item, "nodeType", &input.node_type);
    ReadList(item, "features", &input.features);
    if (item.contains("embedding")) input.embedding = ToEmbedding(item.at("embedding"));
  }
  return inputs;
}

Model ToModel(const Json& json) {
  Model model;
  Read(json, "uri", &model.uri);
  Read(json, "type", &model.type);
  Read(json, "aggregator", &model.aggregator);
  Read(json, "hiddenSize", &model.hidden_size);
  Read(json, "dropout", &model.dropout);
  Read(json, "normalization", &model.normalization);
  Read(json, "numBases", &model.num_bases);
  Read(json, "heads", &model.heads);
  Read(json, "outputHeads", &model.output_heads);
  Read(json, "negativeSlope", &model.negative_slope);
  Read(json, "attentionDropout", &model.attention_dropout);
  return model;
}

Sampling ToSampling(const Json& json) {
  Sampling sampling;
  for (const Json& item : Child(json, "layers")) {
    SamplingLayer& layer = sampling.layers.emplace_back();
    if (item.contains("fanout")) layer.fanout = item.at("fanout").get<int32_t>();
    for (const Json& edge_type : Child(item, "edgeTypes")) {
      EdgeTypeFanout& fanout = layer.edge_types.emplace_back();
      Read(edge_type, "type", &fanout.type);
      Read(edge_type, "fanout", &fanout.fanout);
    }
  }
  sampler::VisitOptions(sampling.draw,
                        [&](const sampler::OptionText& text, auto& option) { Read(json, text.name, &option); });
  Read(json, "seedTime", &sampling.seed_time);
  return sampling;
}

Evaluation ToEvaluation(const Json& json) {
  Evaluation evaluation;
  Read(json, "everyEpochs", &evaluation.every_epochs);
  Read(json, "metric", &evaluation.metric);
  Read(json, "neighborhood", &evaluation.neighborhood);
  Read(Child(json, "earlyStopping"), "patience", &evaluation.patience);
  Read(json, "candidates", &evaluation.candidates);
  Read(json, "filtered", &evaluation.filtered);
  Read(json, "k", &evaluation.k);
  return evaluation;
}

Training ToTraining(const Json& json) {
  Training training;
  training.task = ToTask(Child(json, "task"));
  training.inputs = ToInputs(Child(json, "inputs"));
  training.model = ToModel(Child(json, "model"));
  training.sampling = ToSampling(Child(json, "sampling"));
  Read(json, "batchSize", &training.batch_size);
  Read(json, "epochs", &training.epochs);
  Read(json, "seed", &training.seed);
  const Json& optimizer = Child(json, "optimizer");
  Read(optimizer, "type", &training.optimizer.type);
  Read(optimizer, "learningRate", &training.optimizer.learning_rate);
  Read(optimizer, "weightDecay", &training.optimizer.weight_decay);
  Read(optimizer, "momentum", &training.optimizer.momentum);
  training.schedule = ToSchedule(Child(json, "learningRateSchedule"));
  training.evaluation = ToEvaluation(Child(json, "evaluation"));
  return training;
}

S3Storage ToS3(const Json& json) {
  S3Storage s3;
  Read(json, "endpoint", &s3.endpoint);
  Read(json, "region", &s3.region);
  Read(Child(json, "credentials"), "secretName", &s3.credentials_secret);
  return s3;
}

std::chrono::seconds ReadSeconds(const Json& object, const char* key) {
  int64_t seconds = 0;
  Read(object, key, &seconds);
  return std::chrono::seconds(seconds);
}

Checkpoint ToCheckpoint(const Json& json) {
  Checkpoint checkpoint;
  const Json& every = Child(json, "every");
  Read(every, "epochs", &checkpoint.every_epochs);
  Read(every, "steps", &checkpoint.every_steps);
  checkpoint.every = ReadSeconds(every, "seconds");
  Read(json, "keep", &checkpoint.keep);
  Read(json, "resumeFrom", &checkpoint.resume_from);
  return checkpoint;
}

std::vector<ServerPlugin> ToServerPlugins(const Json& json) {
  std::vector<ServerPlugin> plugins;
  for (const Json& item : json) {
    ServerPlugin& plugin = plugins.emplace_back();
    Read(item, "name", &plugin.name);
    Read(item, "path", &plugin.path);
  }
  return plugins;
}

std::optional<Script> ToScript(const Json& program) {
  if (!program.contains("script")) return std::nullopt;
  const Json& json = program.at("script");
  Script script;
  Read(json, "uri", &script.uri);
  const Json& reference = Child(json, "configMapKeyRef");
  Read(reference, "name", &script.config_map);
  Read(reference, "key", &script.key);
  Read(json, "sha256", &script.sha256);
  Read(json, "entrypoint", &script.entrypoint);
  return script;
}

std::optional<FeatureCache> ToFeatureCache(const Json& trainers) {
  if (!trainers.contains("featureCache")) return std::nullopt;
  const Json& json = trainers.at("featureCache");
  FeatureCache cache;
  std::string memory;
  Read(json, "memory", &memory);
  if (const std::optional<uint64_t> bytes = ReadMemorySize(memory); bytes.has_value()) cache.memory_bytes = *bytes;
  Read(json, "steps", &cache.steps);
  return cache;
}

std::optional<Program> ToProgram(const Json& trainers) {
  if (!trainers.contains("program")) return std::nullopt;
  Program program;
  ReadList(trainers.at("program"), "command", &program.command);
  ReadList(trainers.at("program"), "args", &program.args);
  program.script = ToScript(trainers.at("program"));
  return program;
}

}  // namespace

DistTraining ToDistTraining(const Json& values) {
  DistTraining job;
  Read(Child(values, "metadata"), "name", &job.name);
  const Json& spec = Child(values, "spec");
  job.s3 = ToS3(Child(Child(spec, "storage"), "s3"));
  job.graph = ToGraph(Child(spec, "graph"));
  job.training = ToTraining(Child(spec, "training"));
  job.has_training = spec.contains("training");
  // In-edges are sorted by graph.timeColumn in any case; only with seedTime does it limit which of them are drawn.
  Sampling& sampling = job.training.sampling;
  if (!sampling.seed_time.empty()) sampling.draw.time_column = job.graph.time_column;
  job.training.task.reverse_edges_added = job.graph.preprocess.add_reverse_edges;
  job.checkpoint = ToCheckpoint(Child(spec, "checkpoint"));
  Read(Child(spec, "partitioner"), "replicas", &job.partitioner_replicas);
  std::string partitioner_memory;
  Read(Child(spec, "partitioner"), "memory", &partitioner_memory);
  job.partitioner_memory_bytes = ReadMemorySize(partitioner_memory).value_or(0);
  Read(Child(spec, "servers"), "replicasPerPartition", &job.server_replicas_per_partition);
  Read(Child(spec, "servers"), "containersPerPod", &job.server_containers_per_pod);
  job.server_plugins = ToServerPlugins(Child(Child(spec, "servers"), "plugins"));
  Read(Child(spec, "samplers"), "replicas", &job.sampler_replicas);
  Read(Child(spec, "trainers"), "replicas", &job.trainer_replicas);
  Read(Child(spec, "trainers"), "threads", &job.trainer_threads);
  Read(Child(spec, "trainers"), "device", &job.trainer_device);
  Read(Child(spec, "trainers"), "gpus", &job.trainer_gpus);
  job.feature_cache = ToFeatureCache(Child(spec, "trainers"));
  job.program = ToProgram(Child(spec, "trainers"));
  Read(Child(spec, "output"), "uri", &job.output_uri);
  ReadList(Child(spec, "output"), "save", &job.output_save);
  Read(Child(spec, "output"), "nodesUri", &job.output_nodes_uri);
  Read(Child(spec, "tls"), "mode", &job.tls);
  Read(Child(spec, "tls"), "secretName", &job.tls_secret);
  Read(Child(spec, "runPolicy"), "backoffLimit", &job.backoff_limit);
  job.active_deadline = ReadSeconds(Child(spec, "runPolicy"), "activeDeadlineSeconds");
  return job;
}

}  // namespace espalier::job
