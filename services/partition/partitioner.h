// Graph partitioners, which assign a partition to every node: METIS, Multilevel (label propagation), Random, Streaming
// (restreamed LDG) and External (the user's assignment).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "services/base/work_meter.h"
#include "services/graph/source_graph.h"

namespace espalier::partition {

enum class Objective { kEdgeCut, kCommunicationVolume };
// Quantities to balance over partitions in addition to the total number of nodes.
enum class BalanceConstraint { kNodeTypes, kTrainNodes, kEdges };

// Bytes of a file that is mapped and writable, for arrays that are larger than memory.
struct ScratchSpace {
  std::span<std::byte> bytes;         // aligned to 8 bytes
  std::shared_ptr<const void> owner;  // keeps the mapping and its file alive
};

struct PartitionOptions {
  uint32_t num_partitions = 1;
  Objective objective = Objective::kEdgeCut;
  std::vector<BalanceConstraint> balance;
  std::string train_split;  // for kTrainNodes; empty: every split's training nodes
  uint64_t seed = 0;
  int threads = 1;             // results do not depend on it
  WorkMeter* meter = nullptr;  // unless null, Streaming counts the bytes of neighbors that it visits
  // The memory that Streaming may use, in bytes, besides mapped files (LeastStreamingMemory in memory_need.h); 0: no
  // limit. Results do not depend on it. Neighbors that do not fit are stored in one file, which `make_scratch` makes.
  uint64_t memory_bytes = 0;
  std::function<Result<ScratchSpace>(uint64_t size_bytes)> make_scratch = nullptr;  // required with memory_bytes
};

// assignment[node type][original id] = partition.
using Assignment = std::vector<std::vector<uint32_t>>;

// Assigns every node of a graph to a partition. Thread-compatible.
class Partitioner {
 public:
  virtual ~Partitioner() = default;
  virtual const char* name() const = 0;  // as in the job document, such as "METIS"
  virtual int version() const = 0;       // part of the partitioning's key; increased when results change
  // Returns the assignment, a deterministic function of the graph and the options. InvalidArgument if the graph exceeds
  // a limit of the algorithm; the message names the limit and an alternative.
  virtual Result<Assignment> Partition(const graph::SourceGraph& graph, const PartitionOptions& options) const = 0;
};

std::unique_ptr<Partitioner> MakeMetisPartitioner();
std::unique_ptr<Partitioner> MakeMultilevelPartitioner();
std::unique_ptr<Partitioner> MakeRandomPartitioner();
std::unique_ptr<Partitioner> MakeStreamingPartitioner();
// Returns a partitioner whose result is `assignment`. assignment[node type]: integers [nodes] in [0, num_partitions);
// Partition() checks shapes, dtypes and values.
std::unique_ptr<Partitioner> MakeExternalPartitioner(std::vector<Tensor> assignment);

}  // namespace espalier::partition
