#include "services/job/field_table.h"

#include <cmath>
#include <sstream>

#include "services/job/dist_training.h"

namespace espalier::job {
namespace {

using enum FieldType;
using enum Availability;

constexpr size_t kMaxWordBytes = 4096;  // of a program's command line

std::vector<FieldSpec> HeaderFields() {
  return {
      {.path = "apiVersion",
       .type = kEnum,
       .required = true,
       .values = {"espalier.io/v1alpha1"},
       .meaning = "version of this document's schema"},
      {.path = "kind",
       .type = kEnum,
       .required = true,
       .values = {"DistTraining"},
       .meaning = "what the document describes"},
      {.path = "metadata", .required = true, .meaning = "the job's identity"},
      {.path = "metadata.name", .type = kJobName, .required = true, .meaning = "the job's name"},
      {.path = "metadata.namespace",
       .type = kString,
       .max_length = 63,
       .availability = kClusterOnly,
       .meaning = "Kubernetes namespace"},
      {.path = "metadata.labels",
       .type = kStringMap,
       .maximum_items = 64,
       .availability = kClusterOnly,
       .meaning = "Kubernetes labels"},
      {.path = "metadata.annotations",
       .type = kStringMap,
       .maximum_items = 64,
       .max_length = 65536,
       .availability = kClusterOnly,
       .meaning = "Kubernetes annotations"},
      {.path = "spec", .required = true, .meaning = "the job"},
      {.path = "spec.storage", .meaning = "how s3:// URIs are reached; the credentials stand in the environment"},
      {.path = "spec.storage.s3", .meaning = "the S3 service, AWS's or another's"},
      {.path = "spec.storage.s3.endpoint",
       .type = kEndpoint,
       .meaning = "its address; unset: that of the environment (AWS_ENDPOINT_URL_S3), else AWS"},
      {.path = "spec.storage.s3.region",
       .type = kName,
       .meaning = "its region; unset: that of the environment, else us-east-1"},
      {.path = "spec.storage.s3.credentials", .meaning = "who asks"},
      {.path = "spec.storage.s3.credentials.secretName",
       .type = kObjectName,
       .required = true,
       .availability = kClusterOnly,
       .meaning = "Secret with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"},
  };
}

std::vector<FieldSpec> GraphFields() {
  return {
      {.path = "spec.graph", .required = true, .meaning = "the graph and how it is cut"},
      {.path = "spec.graph.source", .required = true, .meaning = "where the graph is"},
      {.path = "spec.graph.source.uri", .type = kUri, .required = true, .meaning = "folder of the graph"},
      {.path = "spec.graph.source.format",
       .type = kEnum,
       .required = true,
       .values = {"OGB", "NPY", "Triples", "DGLChunked"},
       .meaning = "OGB's layouts, a folder of .npy arrays, tab-separated triples, or DGL's chunked graphs"},
      {.path = "spec.graph.timeColumn",
       .type = kName,
       .meaning = "edge column by which a node's in-edges are ordered first, then by source; unset: by source"},
      {.path = "spec.graph.preprocess", .meaning = "changes made before cutting, in the order of these fields"},
      {.path = "spec.graph.preprocess.dropSelfLoops",
       .type = kBool,
       .default_json = "false",
       .meaning = "leave out edges from a node to itself"},
      {.path = "spec.graph.preprocess.addReverseEdges",
       .type = kBool,
       .default_json = "false",
       .meaning = "one node type: symmetrise; typed: a reverse relation for each relation"},
      {.path = "spec.graph.preprocess.dropDuplicateEdges",
       .type = kBool,
       .default_json = "false",
       .meaning = "of parallel edges keep the one with the smallest id"},
      {.path = "spec.graph.preprocess.normalizeFeatures",
       .type = kEnum,
       .default_json = "\"None\"",
       .values = {"None", "Row"},
       .meaning = "Row: divide each node's features by their sum"},
      {.path = "spec.graph.partitions", .meaning = "how the graph is cut"},
      {.path = "spec.graph.partitions.count",
       .type = kInteger,
       .default_json = "1",
       .minimum_integer = 1,
       .maximum_integer = 4096,
       .meaning = "partitions; each has graph server processes of its own"},
      {.path = "spec.graph.partitions.algorithm",
       .type = kEnum,
       .default_json = "\"METIS\"",
       .values = {"METIS", "Random", "Streaming", "External"},
       .meaning = "METIS: fewest cut edges; Streaming: for graphs METIS cannot hold; External: a given assignment"},
      {.path = "spec.graph.partitions.objective",
       .type = kEnum,
       .default_json = "\"EdgeCut\"",
       .values = {"EdgeCut", "CommunicationVolume"},
       .meaning = "what METIS minimises"},
      {.path = "spec.graph.partitions.balance",
       .type = kEnum,
       .is_list = true,
       .maximum_items = 3,
       .default_json = "[]",
       .values = {"NodeTypes", "TrainNodes", "Edges"},
       .meaning = "balanced over partitions besides all nodes together"},
      {.path = "spec.graph.partitions.reuse",
       .type = kEnum,
       .default_json = "\"IfPresent\"",
       .values = {"IfPresent", "Never"},
       .meaning = "IfPresent: an identical partitioning is not made twice"},
      {.path = "spec.graph.partitions.uri",
       .type = kUri,
       .max_prefix = kMaxOutputPrefixBytes,
       .meaning = "where partitionings lie; by default `<output.uri>/partitions`"},
      {.path = "spec.graph.partitions.assignmentUri",
       .type = kUri,
       .meaning = "External: folder with one `<node type>.npy` or `.txt` of partition numbers each"},
      {.path = "spec.graph.partitions.sourceColumns",
       .type = kName,
       .is_list = true,
       .maximum_items = 16,
       .default_json = "[]",
       .meaning =
           "node columns that in-edges get a copy of, their source's, as edge columns `source.<column>`: masks for "
           "`sampling.weight`; original_id, which `sampling.method: Labor` adds by itself"},
  };
}

// As a container has them in Kubernetes, but for $(NAME), which is no variable here: words arrive as they are written.
void AppendProgramFields(const std::string& role_path, std::vector<FieldSpec>* table) {
  const std::string path = role_path + ".program";
  table->push_back({.path = path,
                    .meaning = "a program of the user's in the place of Espalier's trainers: `spec.training` may be "
                               "left out, and what is there is for partitioning and samplers"});
  table->push_back({.path = path + ".command",
                    .type = kString,
                    .is_list = true,
                    .minimum_items = 1,
                    .maximum_items = 16,
                    .may_repeat = true,
                    .required = true,
                    .max_length = kMaxWordBytes,
                    .meaning = "the program, by its path or looked up in PATH, and its first arguments"});
  table->push_back({.path = path + ".args",
                    .type = kString,
                    .is_list = true,
                    .maximum_items = 256,
                    .may_repeat = true,
                    .max_length = kMaxWordBytes,
                    .meaning = "arguments behind them"});
}

std::vector<FieldSpec> RoleFields() {
  std::vector<FieldSpec> table;
  table.push_back({.path = "spec.partitioner", .meaning = "the partitioners' processes"});
  table.push_back({.path = "spec.partitioner.replicas",
                   .type = kInteger,
                   .default_json = "1",
                   .minimum_integer = 1,
                   .maximum_integer = 1024,
                   .meaning = "processes that cut the graph together, for graphs larger than a memory"});
  AppendRoleFields("spec.partitioner", &table);
  table.push_back({.path = "spec.servers", .meaning = "the graph servers' processes"});
  table.push_back({.path = "spec.servers.replicasPerPartition",
                   .type = kInteger,
                   .default_json = "1",
                   .minimum_integer = 1,
                   .maximum_integer = 16,
                   .meaning = "servers of each partition, on machines of their own where there are as many: immutable "
                              "data is asked of any of them, what can be written is at the first"});
  table.push_back({.path = "spec.servers.containersPerPod",
                   .type = kInteger,
                   .default_json = "1",
                   .minimum_integer = 1,
                   .maximum_integer = kMostContainersPerPod,
                   .meaning = "processes of each such server, as containers of one pod, over one copy of its "
                              "partition: for more answers than one process gives; what can be written is at the "
                              "first process of the first server"});
  table.push_back({.path = "spec.servers.cacheMedium",
                   .type = kEnum,
                   .default_json = "\"Disk\"",
                   .values = {"Disk", "Memory"},
                   .availability = kClusterOnly,
                   .meaning = "where a server keeps its copy of the partition: the node's disk, or memory, which then "
                              "counts towards the limit"});
  table.push_back({.path = "spec.servers.plugins",
                   .is_list = true,
                   .maximum_items = 16,
                   .list_key = "name",
                   .meaning = "shared libraries that the servers load, with functions that programs call and "
                              "initialisers of rows"});
  table.push_back({.path = "spec.servers.plugins[].name",
                   .type = kName,
                   .required = true,
                   .meaning = "what its functions and initialisers are called by: name/function"});
  table.push_back({.path = "spec.servers.plugins[].path",
                   .type = kString,
                   .required = true,
                   .max_length = 1024,
                   .meaning = "its file where the servers run; on a cluster absolute, in their image or on a volume"});
  AppendRoleFields("spec.servers", &table);
  table.push_back({.path = "spec.samplers", .meaning = "the samplers' processes"});
  table.push_back({.path = "spec.samplers.replicas",
                   .type = kInteger,
                   .default_json = "0",
                   .minimum_integer = 0,
                   .maximum_integer = 1024,
                   .meaning = "sampler processes in all; 0: threads in the trainers"});
  AppendRoleFields("spec.samplers", &table);
  table.push_back({.path = "spec.trainers", .meaning = "the trainers' processes"});
  table.push_back({.path = "spec.trainers.replicas",
                   .type = kInteger,
                   .default_json = "1",
                   .minimum_integer = 1,
                   .maximum_integer = 1024,
                   .meaning = "trainer processes"});
  table.push_back({.path = "spec.trainers.minReplicas",
                   .type = kInteger,
                   .minimum_integer = 1,
                   .maximum_integer = 1024,
                   .availability = kClusterOnly,
                   .meaning = "scaling: at least"});
  table.push_back({.path = "spec.trainers.maxReplicas",
                   .type = kInteger,
                   .minimum_integer = 1,
                   .maximum_integer = 1024,
                   .availability = kClusterOnly,
                   .meaning = "scaling: at most"});
  table.push_back({.path = "spec.trainers.threads",
                   .type = kInteger,
                   .default_json = "1",
                   .minimum_integer = 1,
                   .maximum_integer = 1024,
                   .meaning = "threads of a trainer's math library; part of what makes runs repeatable"});
  AppendProgramFields("spec.trainers", &table);
  AppendRoleFields("spec.trainers", &table);
  return table;
}

std::vector<FieldSpec> MakeTable() {
  std::vector<FieldSpec> table;
  for (const std::vector<FieldSpec>& part :
       {HeaderFields(), GraphFields(), TrainingFields(), RoleFields(), RunFields()}) {
    table.insert(table.end(), part.begin(), part.end());
  }
  return table;
}

std::string NumberText(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

std::string OneOf(const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& value : values) text += (text.empty() ? "" : " | ") + value;
  return text;
}

std::string ExpectedNumber(const FieldSpec& field) {
  return std::string("a number ") + (field.above_minimum ? "above " : "from ") + NumberText(field.minimum) +
         (field.below_maximum ? " to below " : " to ") + NumberText(field.maximum);
}

std::string ExpectedOne(const FieldSpec& field) {
  switch (field.type) {
    case kObject: return "an object";
    case kString: return "text of at most " + std::to_string(field.max_length) + " bytes";
    case kName: return "a name ([A-Za-z0-9_][A-Za-z0-9_.-]{0,127})";
    case kEdgeType: return "an edge type (source:relation:destination, or a relation)";
    case kPluginItem: return "plugin/name, as in rows/sinusoids";
    case kJobName: return "a name of lower-case letters, digits and '-' that starts with a letter (at most 40)";
    case kUri: return "a path, a file: URI or s3://bucket/prefix";
    case kEndpoint: return "http://host[:port][/path] or https://host[:port][/path]";
    case kObjectName: return "a name of lower-case letters, digits, '-' and '.' (at most 253)";
    case kEnum: return OneOf(field.values);
    case kInteger:
      return "an integer from " + std::to_string(field.minimum_integer) + " to " +
             std::to_string(field.maximum_integer);
    case kNumber: return ExpectedNumber(field);
    case kBool: return "true or false";
    case kStringMap: return "an object of text values";
    case kQuantities: return "an object of quantities (250m, 2, 512Mi)";
    case kFreeObject: return "an object, not looked into";
  }
  return "";
}

}  // namespace

const std::vector<FieldSpec>& FieldTable() {
  static const std::vector<FieldSpec>* const table = new std::vector<FieldSpec>(MakeTable());
  return *table;
}

std::string ExpectationOf(const FieldSpec& field) {
  if (!field.is_list) return ExpectedOne(field);
  return "a list of " + std::to_string(field.minimum_items) + " to " + std::to_string(field.maximum_items) +
         " items, each " + ExpectedOne(field);
}

}  // namespace espalier::job
