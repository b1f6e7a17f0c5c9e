// Rules of the graph's partitioning and of the processes that partition and serve it.
#include <algorithm>

#include "services/job/rules/rule_check.h"

namespace espalier::job {
namespace {

constexpr size_t kMaxSourceColumns = 16;  // the same limit as in the field table

bool Balances(const Partitions& partitions, PartitionBalance quantity) {
  return std::count(partitions.balance.begin(), partitions.balance.end(), quantity) > 0;
}

std::vector<Rule> PartitionRules() {
  const std::string partitions = "spec.graph.partitions";
  return {
      {partitions, "self.algorithm != 'External' || has(self.assignmentUri)",
       "External needs spec.graph.partitions.assignmentUri", "algorithm", Holds([](const Partitions& self) {
         return self.algorithm != PartitionAlgorithm::kExternal || !self.assignment_uri.empty();
       })},
      {partitions, "self.algorithm == 'External' || !has(self.assignmentUri)", "only for the algorithm External",
       "assignmentUri", Holds([](const Partitions& self) {
         return self.algorithm == PartitionAlgorithm::kExternal || self.assignment_uri.empty();
       })},
      {partitions, "self.algorithm == 'METIS' || self.objective != 'CommunicationVolume'",
       "only METIS can minimize the communication volume", "objective", Holds([](const Partitions& self) {
         return self.algorithm == PartitionAlgorithm::kMetis ||
                self.objective != PartitionObjective::kCommunicationVolume;
       })},
      {partitions, "self.algorithm in ['METIS', 'Multilevel', 'Streaming'] || size(self.balance) == 0",
       "Random and External balance only nodes: omit it", "balance", Holds([](const Partitions& self) {
         return (self.algorithm != PartitionAlgorithm::kRandom && self.algorithm != PartitionAlgorithm::kExternal) ||
                self.balance.empty();
       })},
      // With Labor, FillDependentDefaults adds original_id to sourceColumns before the predicate runs, so the predicate
      // counts it. The CEL expression sees the list as the user wrote it.
      {"spec",
       IfTraining("self.training.sampling.method != 'Labor' || size(self.graph.partitions.sourceColumns) < " +
                  std::to_string(kMaxSourceColumns) + " || 'original_id' in self.graph.partitions.sourceColumns"),
       "at most " + std::to_string(kMaxSourceColumns) +
           " columns, including original_id, which sampling.method Labor adds: omit one",
       "graph.partitions.sourceColumns", Holds([](const DistTraining& self) {
         return self.graph.partitions.source_columns.size() <= kMaxSourceColumns;
       })},
  };
}

// Rules of options that need a single partitioner (partitioner/group/group_partitioning.h), and the rule that the
// balance TrainNodes needs a task on nodes.
std::vector<Rule> PartitionerRules() {
  const std::string is_one_process_or = "self.partitioner.replicas == 1 || ";
  const std::string or_one_process = ", or set spec.partitioner.replicas to 1";
  return {
      {"spec", is_one_process_or + "!(self.graph.partitions.algorithm in ['METIS', 'Multilevel'])",
       "METIS and Multilevel need the whole graph in one process: choose Streaming, Random or External" +
           or_one_process,
       "graph.partitions.algorithm", Holds([](const DistTraining& self) {
         return self.partitioner_replicas == 1 || (self.graph.partitions.algorithm != PartitionAlgorithm::kMetis &&
                                                   self.graph.partitions.algorithm != PartitionAlgorithm::kMultilevel);
       })},
      {"spec",
       is_one_process_or + "!('Edges' in self.graph.partitions.balance) || !(self.graph.preprocess.dropSelfLoops || "
                           "self.graph.preprocess.addReverseEdges || self.graph.preprocess.dropDuplicateEdges || "
                           "(has(self.training) && self.training.task.type == 'LinkPrediction'))",
       "several partitioners balance Edges only if neither preprocessing nor the task changes the edges: omit Edges" +
           or_one_process,
       "graph.partitions.balance", Holds([](const DistTraining& self) {
         const Preprocess& preprocess = self.graph.preprocess;
         return self.partitioner_replicas == 1 || !Balances(self.graph.partitions, PartitionBalance::kEdges) ||
                !(preprocess.drop_self_loops || preprocess.add_reverse_edges || preprocess.drop_duplicate_edges ||
                  (self.has_training && self.training.task.type == TaskType::kLinkPrediction));
       })},
      {"spec",
       IfTraining("self.training.task.type in ['NodeClassification', 'NodeRegression'] || !('TrainNodes' in "
                  "self.graph.partitions.balance)"),
       "TrainNodes needs a task on nodes", "graph.partitions.balance", Holds([](const DistTraining& self) {
         return !self.has_training || !HasEdgeSeeds(self.training.task.type) ||
                !Balances(self.graph.partitions, PartitionBalance::kTrainNodes);
       })},
  };
}

// Returns whether preprocessing or the task changes edges or columns of the source graph.
bool ChangesGraph(const DistTraining& self) {
  const Preprocess& preprocess = self.graph.preprocess;
  return preprocess.drop_self_loops || preprocess.add_reverse_edges || preprocess.drop_duplicate_edges ||
         preprocess.normalize_features != RowNormalization::kNone ||
         preprocess.feature_dtype != FeatureDType::kSource ||
         (self.has_training && self.training.task.type == TaskType::kLinkPrediction);
}

// Rules of options with which a partitioner cannot limit its memory (partitioner/memory_bound.h).
std::vector<Rule> PartitionerMemoryRules() {
  const std::string has_no_limit_or = "!has(self.partitioner.memory) || ";
  return {
      {"spec", has_no_limit_or + "self.partitioner.replicas == 1",
       "a memory limit is only for one partitioner: omit it, or set spec.partitioner.replicas to 1",
       "partitioner.memory", Holds([](const DistTraining& self) {
         return self.partitioner_memory_bytes == 0 || self.partitioner_replicas == 1;
       })},
      {"spec", has_no_limit_or + "!(self.graph.partitions.algorithm in ['METIS', 'Multilevel'])",
       "METIS and Multilevel hold the whole graph in memory: set no limit, or choose Streaming, Random or External",
       "partitioner.memory", Holds([](const DistTraining& self) {
         return self.partitioner_memory_bytes == 0 ||
                (self.graph.partitions.algorithm != PartitionAlgorithm::kMetis &&
                 self.graph.partitions.algorithm != PartitionAlgorithm::kMultilevel);
       })},
      {"spec",
       has_no_limit_or +
           "!(self.graph.preprocess.dropSelfLoops || self.graph.preprocess.addReverseEdges || "
           "self.graph.preprocess.dropDuplicateEdges || self.graph.preprocess.normalizeFeatures != 'None' || "
           "self.graph.preprocess.featureDtype != 'Source' || "
           "(has(self.training) && self.training.task.type == 'LinkPrediction'))",
       "spec.graph.preprocess and LinkPrediction need the whole graph in memory: omit the memory limit",
       "partitioner.memory",
       Holds([](const DistTraining& self) { return self.partitioner_memory_bytes == 0 || !ChangesGraph(self); })},
  };
}

uint64_t CountServerProcesses(const DistTraining& job) {
  return uint64_t{job.graph.partitions.count} * job.server_replicas_per_partition * job.server_containers_per_pod;
}

std::vector<Rule> ServerRules() {
  const std::string path = "spec.servers.plugins[].path";
  const std::string most = std::to_string(kMaxServerProcesses);
  return {
      {"spec",
       "self.graph.partitions.count * self.servers.replicasPerPartition * self.servers.containersPerPod <= " + most,
       "partitions times replicas times containers are more than " + most + " processes", "servers.containersPerPod",
       Holds([](const DistTraining& self) { return CountServerProcesses(self) <= kMaxServerProcesses; },
             [](const DistTraining& self) { return ": " + std::to_string(CountServerProcesses(self)); })},
      {path, "self != ''", "expected the path of a shared library", "",
       Holds([](const ServerPlugin& self) { return !self.path.empty(); })},
      // Servers receive the plugins as "name=path,name=path", so a path must not contain a comma.
      {path, "!self.matches('[,[:cntrl:]]')", "contains a comma or an unprintable character: rename the file", "",
       Holds([](const ServerPlugin& self) {
         return std::none_of(self.path.begin(), self.path.end(),
                             [](unsigned char c) { return c == ',' || c < ' ' || c == 0x7f; });
       })},
      {.at = path,
       .cel = "self == '' || self.startsWith('/')",
       .message =
           "a relative path is not supported on a cluster: expected the absolute path of a file of the servers' image, "
           "or of a volume that spec.servers.template mounts",
       .check = Holds([](const ServerPlugin& self) { return self.path.empty() || self.path.starts_with('/'); }),
       .on_cluster_only = true},
  };
}

}  // namespace

std::vector<Rule> GraphRules() {
  std::vector<Rule> rules;
  for (const std::vector<Rule>& part :
       {PartitionRules(), PartitionerRules(), PartitionerMemoryRules(), ServerRules()}) {
    rules.insert(rules.end(), part.begin(), part.end());
  }
  return rules;
}

}  // namespace espalier::job
