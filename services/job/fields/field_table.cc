// MakeTable assembles the table once, from one list per part of the document, in the order of the document; then the
// rows of the table take types and defaults from their members. TableTree (field_tree.h) relies on an object preceding
// its fields. The files field_table_*.cc contain the fields of spec.training, of its embeddings, of the parts after the
// roles (spec.checkpoint to spec.runPolicy), and of the pods of every role.
#include "services/job/fields/field_table.h"

#include <cmath>

#include "absl/strings/str_join.h"
#include "services/base/format_number.h"
#include "services/job/dist_training.h"

namespace espalier::job {
namespace {

using enum FieldType;
using enum Availability;

constexpr size_t kMaxWordBytes = 4096;  // of one word of a program's command line
constexpr size_t kSha256Digits = 64;

std::vector<FieldSpec> HeaderFields() {
  return {
      {.path = "apiVersion",
       .type = kEnum,
       .required = true,
       .values = {"espalier.io/v1alpha1"},
       .meaning = "API version of the document"},
      {.path = "kind", .type = kEnum, .required = true, .values = {"DistTraining"}, .meaning = "kind of the document"},
      {.path = "metadata", .required = true, .meaning = "standard object metadata"},
      {.path = "metadata.name",
       .member = &DistTraining::name,
       .type = kJobName,
       .required = true,
       .meaning = "name of the job"},
      {.path = "metadata.namespace",
       .type = kString,
       .max_length = 63,
       .availability = kClusterOnly,
       .meaning = "namespace of the resource"},
      {.path = "metadata.labels",
       .type = kStringMap,
       .maximum_items = 64,
       .availability = kClusterOnly,
       .meaning = "labels of the resource; child objects inherit them, except labels in the domain of a tool, such as "
                  "`*.kubernetes.io`"},
      {.path = "metadata.annotations",
       .type = kStringMap,
       .maximum_items = 64,
       .max_length = 65536,
       .availability = kClusterOnly,
       .meaning = "annotations of the resource"},
      {.path = "spec", .required = true, .meaning = "desired state of the job"},
      {.path = "spec.storage",
       .meaning = "settings for s3:// URIs; credentials come from the environment, or on a cluster from a Secret"},
      {.path = "spec.storage.s3", .member = &DistTraining::s3, .meaning = "S3 or S3-compatible service"},
      {.path = "spec.storage.s3.endpoint",
       .member = &S3Storage::endpoint,
       .type = kEndpoint,
       .meaning = "endpoint URL of the service; by default AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL of the environment, "
                  "else AWS"},
      {.path = "spec.storage.s3.region",
       .member = &S3Storage::region,
       .type = kName,
       .meaning = "region of the service; by default AWS_REGION or AWS_DEFAULT_REGION of the environment, else "
                  "us-east-1"},
      {.path = "spec.storage.s3.credentials", .meaning = "credentials of the requests"},
      {.path = "spec.storage.s3.credentials.secretName",
       .member = &S3Storage::credentials_secret,
       .type = kObjectName,
       .required = true,
       .availability = kClusterOnly,
       .meaning = "Secret with the keys AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"},
  };
}

std::vector<FieldSpec> GraphFields() {
  return {
      {.path = "spec.graph",
       .member = &DistTraining::graph,
       .required = true,
       .meaning = "input graph, its preprocessing and its partitioning"},
      {.path = "spec.graph.source",
       .member = &Graph::source,
       .required = true,
       .meaning = "location and format of the input graph"},
      {.path = "spec.graph.source.uri",
       .member = &GraphSource::uri,
       .type = kUri,
       .required = true,
       .meaning = "folder with the files of the graph, or one file of triples"},
      {.path = "spec.graph.source.format",
       .member = &GraphSource::format,
       .required = true,
       .meaning = "file format: OGB's raw or binary layout, a folder of .npy arrays, tab-separated triples, or DGL's "
                  "chunked graph format"},
      {.path = "spec.graph.timeColumn",
       .member = &Graph::time_column,
       .type = kName,
       .meaning = "edge column with timestamps; the in-edges of a node are sorted by it, then by source node id; by "
                  "default they are sorted by source node id"},
      {.path = "spec.graph.preprocess",
       .member = &Graph::preprocess,
       .meaning = "preprocessing steps before partitioning, applied in the order of these fields"},
      {.path = "spec.graph.preprocess.dropSelfLoops",
       .member = &Preprocess::drop_self_loops,
       .meaning = "remove self-loops"},
      {.path = "spec.graph.preprocess.addReverseEdges",
       .member = &Preprocess::add_reverse_edges,
       .meaning = "add reverse edges: to the same relation for a homogeneous graph, as a new relation `rev_<relation>` "
                  "for each relation of a heterogeneous graph"},
      {.path = "spec.graph.preprocess.dropDuplicateEdges",
       .member = &Preprocess::drop_duplicate_edges,
       .meaning = "remove parallel edges; the edge with the smallest id stays"},
      {.path = "spec.graph.preprocess.normalizeFeatures",
       .member = &Preprocess::normalize_features,
       .meaning = "feature normalization; Row divides the features of each node by their sum"},
      {.path = "spec.graph.preprocess.featureDtype",
       .member = &Preprocess::feature_dtype,
       .meaning =
           "data type of node features in partitions, on graph servers and in messages; trainers widen them to F32; "
           "I8 has a scale for each element of a row; Source keeps the data type of the source"},
      {.path = "spec.graph.partitions", .member = &Graph::partitions, .meaning = "partitioning of the graph"},
      {.path = "spec.graph.partitions.count",
       .member = &Partitions::count,
       .minimum_integer = 1,
       .maximum_integer = 4096,
       .meaning = "number of partitions; each partition has its own graph servers"},
      {.path = "spec.graph.partitions.algorithm",
       .member = &Partitions::algorithm,
       .meaning =
           "partitioning algorithm; METIS minimizes `objective`, Multilevel cuts about as few edges as METIS in less "
           "time and memory, Streaming can partition graphs that exceed the memory of one machine, External reads a "
           "given assignment"},
      {.path = "spec.graph.partitions.objective",
       .member = &Partitions::objective,
       .meaning = "objective that METIS minimizes"},
      {.path = "spec.graph.partitions.balance",
       .member = &Partitions::balance,
       .maximum_items = 3,
       .meaning = "quantities balanced over partitions, in addition to the number of nodes"},
      {.path = "spec.graph.partitions.reuse",
       .member = &Partitions::reuse,
       .meaning = "reuse of an existing partitioning; IfPresent reuses one of the same graph and options, Never "
                  "partitions again"},
      {.path = "spec.graph.partitions.uri",
       .member = &Partitions::uri,
       .type = kUri,
       .max_prefix = kMaxOutputPrefixBytes,
       .meaning = "folder of partitionings; by default `<output.uri>/partitions`"},
      {.path = "spec.graph.partitions.assignmentUri",
       .member = &Partitions::assignment_uri,
       .type = kUri,
       .meaning = "External: folder with the partition id of each node, one file `<node type>.npy` or `<node "
                  "type>.txt` per node type"},
      {.path = "spec.graph.partitions.sourceColumns",
       .member = &Partitions::source_columns,
       .type = kName,
       .maximum_items = 16,
       .meaning =
           "node columns that are copied from source nodes to their out-edges, as edge columns `source.<column>`, for "
           "example masks for `sampling.weight`; `sampling.method: Labor` adds `original_id`"},
  };
}

void AppendScriptFields(const std::string& path, std::vector<FieldSpec>* table) {
  table->push_back({.path = path,
                    .member = &Program::script,
                    .meaning =
                        "file that the program runs, or archive with it, as `uri` or `configMapKeyRef`; its path "
                        "follows the words of `command`"});
  table->push_back({.path = path + ".uri",
                    .member = &Script::uri,
                    .type = kUri,
                    .meaning =
                        "one file, or an archive `*.tar`, `*.tar.gz`, `*.tgz` or `*.zip`; on a cluster, an s3:// "
                        "URI"});
  table->push_back({.path = path + ".configMapKeyRef",
                    .meaning = "file or archive in a ConfigMap of the job's namespace; refused outside clusters"});
  table->push_back({.path = path + ".configMapKeyRef.name",
                    .member = &Script::config_map,
                    .type = kObjectName,
                    .required = true,
                    .meaning = "name of the ConfigMap"});
  table->push_back({.path = path + ".configMapKeyRef.key",
                    .member = &Script::key,
                    .type = kName,
                    .required = true,
                    .meaning = "key of the ConfigMap, which is also the name of the file"});
  table->push_back({.path = path + ".sha256",
                    .member = &Script::sha256,
                    .max_length = kSha256Digits,
                    .meaning =
                        "SHA-256 of the file or archive, as 64 lower-case hexadecimal digits; by default that of "
                        "the file when the job first reads it. A file with another digest is never run"});
  table->push_back({.path = path + ".entrypoint",
                    .member = &Script::entrypoint,
                    .meaning = "file to run, as a relative path in the archive; only for archives, and required for "
                               "them"});
}

void AppendFeatureCacheFields(const std::string& path, std::vector<FieldSpec>* table) {
  table->push_back({.path = path,
                    .member = &DistTraining::feature_cache,
                    .meaning =
                        "cache of each trainer, which keeps feature rows that the next mini-batches will read; by "
                        "default there is none"});
  table->push_back({.path = path + ".memory",
                    .member = &FeatureCache::memory_bytes,
                    .type = kMemorySize,
                    .required = true,
                    .meaning =
                        "memory in each trainer for rows of other machines; the mini-batches that are sampled ahead "
                        "take up to the same amount in addition"});
  table->push_back({.path = path + ".steps",
                    .member = &FeatureCache::steps,
                    .minimum_integer = 1,
                    .maximum_integer = 1000,
                    .meaning = "number of steps that are sampled ahead of the one whose rows are read"});
  table->push_back({.path = path + ".sharedMemory",
                    .member = &FeatureCache::shared_memory_bytes,
                    .type = kMemorySize,
                    .meaning = "additional memory on each machine, or in each pod with several trainers, for rows that "
                               "its trainers share; by default they share none"});
  table->push_back({.path = path + ".deviceMemory",
                    .member = &FeatureCache::device_memory_bytes,
                    .type = kMemorySize,
                    .meaning = "memory of the GPU of each trainer for feature rows, which are then not copied to it "
                               "again; by default none; only with the device CUDA or Auto, and without effect if a "
                               "trainer computes on the CPU"});
}

// `command` and `args` are like those of a Kubernetes container, except that $(NAME) is not expanded: the program
// receives the words exactly as they are in the document.
void AppendProgramFields(const std::string& role_path, std::vector<FieldSpec>* table) {
  const std::string path = role_path + ".program";
  table->push_back({.path = path,
                    .member = &DistTraining::program,
                    .meaning = "user program that runs instead of the built-in trainer; `spec.training` is optional "
                               "then and configures partitioning and samplers"});
  table->push_back({.path = path + ".command",
                    .member = &Program::command,
                    .minimum_items = 1,
                    .maximum_items = 16,
                    .may_repeat = true,
                    .max_length = kMaxWordBytes,
                    .meaning = "program, as a path or a name in PATH, and its first arguments; required without "
                               "`script`, and by default `python3` for a script `*.py`"});
  table->push_back({.path = path + ".args",
                    .member = &Program::args,
                    .maximum_items = 256,
                    .may_repeat = true,
                    .stays_missing = true,
                    .max_length = kMaxWordBytes,
                    .meaning = "arguments after those of `command`, and after the path of `script`"});
  AppendScriptFields(path + ".script", table);
}

std::vector<FieldSpec> RoleFields() {
  std::vector<FieldSpec> table;
  table.push_back({.path = "spec.partitioner", .meaning = "partitioner processes"});
  table.push_back(
      {.path = "spec.partitioner.replicas",
       .member = &DistTraining::partitioner_replicas,
       .minimum_integer = 1,
       .maximum_integer = 1024,
       .meaning = "number of processes that partition the graph together, for a graph that exceeds the memory of one"});
  table.push_back({.path = "spec.partitioner.memory",
                   .member = &DistTraining::partitioner_memory_bytes,
                   .type = kMemorySize,
                   .meaning = "memory limit of the partitioner, not counting mapped files, for a graph whose files "
                              "exceed memory; data that does not fit is in a scratch file; by default the partitioner "
                              "uses as much memory as the graph needs"});
  AppendRoleFields("spec.partitioner", &table);
  table.push_back({.path = "spec.servers", .meaning = "graph server processes"});
  table.push_back({.path = "spec.servers.replicasPerPartition",
                   .member = &DistTraining::server_replicas_per_partition,
                   .minimum_integer = 1,
                   .maximum_integer = 16,
                   .meaning = "number of servers per partition, placed on different nodes where possible; reads of "
                              "immutable data go to any replica, mutable tensors are on the first replica"});
  table.push_back({.path = "spec.servers.containersPerPod",
                   .member = &DistTraining::server_containers_per_pod,
                   .minimum_integer = 1,
                   .maximum_integer = kMaxContainersPerPod,
                   .meaning = "number of server processes per replica, as containers of one pod that share one copy of "
                              "the partition; mutable tensors are in the first process of the first replica"});
  table.push_back(
      {.path = "spec.servers.cacheMedium",
       .type = kEnum,
       .default_json = "\"Disk\"",
       .values = {"Disk", "Memory"},
       .availability = kClusterOnly,
       .meaning = "medium of a server's copy of its partition; Memory counts towards the memory limit of the pod"});
  table.push_back(
      {.path = "spec.servers.plugins",
       .member = &DistTraining::server_plugins,
       .maximum_items = 16,
       .list_key = "name",
       .meaning =
           "shared libraries that the servers load, with functions for programs and initializers for learnable rows"});
  table.push_back({.path = "spec.servers.plugins[].name",
                   .member = &ServerPlugin::name,
                   .type = kName,
                   .required = true,
                   .meaning = "name of the plugin; its functions are called as `<name>/<function>`"});
  table.push_back(
      {.path = "spec.servers.plugins[].path",
       .member = &ServerPlugin::path,
       .required = true,
       .max_length = 1024,
       .meaning =
           "path of the shared library on the servers; on a cluster, an absolute path in their image or on a volume"});
  AppendRoleFields("spec.servers", &table);
  table.push_back({.path = "spec.samplers", .meaning = "sampler processes"});
  table.push_back({.path = "spec.samplers.replicas",
                   .member = &DistTraining::sampler_replicas,
                   .minimum_integer = 0,
                   .maximum_integer = 1024,
                   .meaning = "number of sampler processes; 0: the trainers sample in threads of their own"});
  AppendRoleFields("spec.samplers", &table);
  table.push_back({.path = "spec.trainers", .meaning = "trainer processes"});
  table.push_back({.path = "spec.trainers.replicas",
                   .member = &DistTraining::trainer_replicas,
                   .minimum_integer = 1,
                   .maximum_integer = 1024,
                   .meaning = "number of trainer processes (the world size)"});
  table.push_back({.path = "spec.trainers.minReplicas",
                   .type = kInteger,
                   .minimum_integer = 1,
                   .maximum_integer = 1024,
                   .availability = kClusterOnly,
                   .meaning = "smallest number of trainers after scaling, and at admission by Kueue"});
  table.push_back({.path = "spec.trainers.maxReplicas",
                   .type = kInteger,
                   .minimum_integer = 1,
                   .maximum_integer = 1024,
                   .availability = kClusterOnly,
                   .meaning = "largest number of trainers after scaling"});
  table.push_back({.path = "spec.trainers.containersPerPod",
                   .member = &DistTraining::trainer_containers_per_pod,
                   .minimum_integer = 1,
                   .maximum_integer = kMaxContainersPerPod,
                   .availability = kClusterOnly,
                   .meaning = "number of trainer processes per pod, as containers on one node; must divide `replicas`; "
                              "1 for a program"});
  table.push_back(
      {.path = "spec.trainers.threads",
       .member = &DistTraining::trainer_threads,
       .minimum_integer = 1,
       .maximum_integer = 1024,
       .meaning = "number of threads of a trainer's math library; runs are reproducible for the same number"});
  table.push_back({.path = "spec.trainers.device",
                   .member = &DistTraining::trainer_device,
                   .meaning = "device on which trainers compute; Auto: CUDA where a trainer has an NVIDIA GPU and a "
                              "torch with CUDA, else the CPU; a program chooses its own"});
  table.push_back({.path = "spec.trainers.gpus",
                   .member = &DistTraining::trainer_gpus,
                   .minimum_integer = 0,
                   .maximum_integer = 64,
                   .availability = kClusterOnly,
                   .meaning = "number of GPUs of each trainer, at most 1 without `program`"});
  AppendFeatureCacheFields("spec.trainers.featureCache", &table);
  AppendProgramFields("spec.trainers", &table);
  AppendRoleFields("spec.trainers", &table);
  return table;
}

// Returns whether `initial`, the initial value of the field's member, is valid in a document. A memory size is not: a
// document has it as text.
bool IsValidDefault(const FieldSpec& field, const nlohmann::ordered_json& initial) {
  if (initial.is_null() || field.type == kMemorySize) return false;
  if (field.is_list) return initial.size() >= field.minimum_items;
  return field.type != kInteger || initial.get<int64_t>() >= field.minimum_integer;
}

void CompleteFromMember(FieldSpec* field) {
  const Member& member = field->member;
  if (!member.exists()) return;
  if (field->type == kObject) field->type = member.type();
  field->is_list = member.is_list();
  field->values = member.names();
  if (field->required || field->stays_missing || !field->default_json.empty()) return;
  if (IsValidDefault(*field, member.initial())) field->default_json = member.initial().dump();
}

std::vector<FieldSpec> MakeTable() {
  std::vector<FieldSpec> table;
  for (const std::vector<FieldSpec>& part :
       {HeaderFields(), GraphFields(), TrainingFields(), RoleFields(), RunFields()}) {
    table.insert(table.end(), part.begin(), part.end());
  }
  for (FieldSpec& field : table) CompleteFromMember(&field);
  return table;
}

std::string FormatChoices(const std::vector<std::string>& values) { return absl::StrJoin(values, " | "); }

std::string DescribeNumber(const FieldSpec& field) {
  return std::string("a number ") + (field.above_minimum ? "above " : "from ") + FormatSignificant(field.minimum, 6) +
         (field.below_maximum ? " to below " : " to ") + FormatSignificant(field.maximum, 6);
}

// Returns the description of a valid value, or of a valid item if the field is a list.
std::string DescribeValue(const FieldSpec& field) {
  switch (field.type) {
    case kObject: return "an object";
    case kString: return "text of at most " + std::to_string(field.max_length) + " bytes";
    case kName: return "a name ([A-Za-z0-9_][A-Za-z0-9_.-]{0,127})";
    case kEdgeType: return "an edge type (source:relation:destination, or a relation)";
    case kPluginItem: return "plugin/name, as in rows/sinusoids";
    case kJobName:
      return "a name of at most 40 lower-case letters, digits and '-' that starts with a letter and does not end "
             "with '-'";
    case kUri: return "a path, a file: URI or s3://bucket/prefix";
    case kEndpoint: return "http://host[:port][/path] or https://host[:port][/path]";
    case kObjectName: return "a name of lower-case letters, digits, '-' and '.' (at most 253)";
    case kEnum: return FormatChoices(field.values);
    case kInteger:
      return "an integer from " + std::to_string(field.minimum_integer) + " to " +
             std::to_string(field.maximum_integer);
    case kNumber: return DescribeNumber(field);
    case kBool: return "true or false";
    case kMemorySize: return "a size in bytes (512Mi, 2Gi)";
    case kStringMap: return "an object of text values";
    case kQuantities: return "an object of quantities (250m, 2, 512Mi)";
    case kFreeObject: return "an object, not validated";
  }
  return "";
}

}  // namespace

const std::vector<FieldSpec>& FieldTable() {
  static const std::vector<FieldSpec>* const table = new std::vector<FieldSpec>(MakeTable());
  return *table;
}

std::string DescribeExpected(const FieldSpec& field) {
  if (!field.is_list) return DescribeValue(field);
  return "a list of " + std::to_string(field.minimum_items) + " to " + std::to_string(field.maximum_items) +
         " items, each " + DescribeValue(field);
}

}  // namespace espalier::job
