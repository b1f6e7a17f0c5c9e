// Cutting a graph: a partition for every node. Implementations: METIS, Random, Streaming (restreamed LDG),
// External (the user's assignment).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "services/base/work_meter.h"
#include "services/graph/source_graph.h"

namespace espalier::partition {

enum class Algorithm { kMetis, kRandom, kStreaming, kExternal };
enum class Objective { kEdgeCut, kCommunicationVolume };
// What is balanced over partitions besides all nodes together.
enum class BalanceConstraint { kNodeTypes, kTrainNodes, kEdges };

struct PartitionOptions {
  uint32_t num_partitions = 1;
  Objective objective = Objective::kEdgeCut;
  std::vector<BalanceConstraint> balance;
  std::string train_split;  // for kTrainNodes; empty: every split's training nodes
  uint64_t seed = 0;
  int threads = 1;             // results do not depend on it
  WorkMeter* meter = nullptr;  // Streaming counts the bytes of neighbours that it passes, unless null
};

// assignment[node type][original id] = partition.
using Assignment = std::vector<std::vector<uint32_t>>;

// Thread-compatible.
class Partitioner {
 public:
  virtual ~Partitioner() = default;
  virtual const char* name() const = 0;  // "METIS": as in the job document
  virtual int version() const = 0;       // part of the partitioning's key: raised when results change
  // Deterministic in (graph, options). InvalidArgument names what does not fit and the alternative.
  virtual Result<Assignment> Partition(const graph::SourceGraph& graph, const PartitionOptions& options) const = 0;
};

std::unique_ptr<Partitioner> MakeMetisPartitioner();
std::unique_ptr<Partitioner> MakeRandomPartitioner();
std::unique_ptr<Partitioner> MakeStreamingPartitioner();
// assignment[node type]: U32/I32/I64... [nodes], values in [0, num_partitions) (checked at Partition).
std::unique_ptr<Partitioner> MakeExternalPartitioner(std::vector<Tensor> assignment);

}  // namespace espalier::partition
