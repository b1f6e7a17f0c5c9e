// Graph partitioners, which assign a partition to every node: METIS, Multilevel (label propagation), Random, Streaming
// (restreamed linear deterministic greedy) and External (the user's assignment).
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
// Quantities to balance over partitions in addition to the total number of nodes; with kNodeTypes, the number of nodes
// of each type is balanced instead of the total.
enum class BalanceConstraint { kNodeTypes, kTrainNodes, kEdges };

// The bytes of a mapped and writable file, for arrays that are larger than memory.
struct ScratchSpace {
  std::span<std::byte> bytes;         // aligned to 8 bytes
  std::shared_ptr<const void> owner;  // keeps the mapping and the file alive
};

struct PartitionOptions {
  uint32_t num_partitions = 1;
  Objective objective = Objective::kEdgeCut;  // used by METIS alone
  std::vector<BalanceConstraint> balance;     // used by METIS, Multilevel and Streaming
  std::string train_split;                    // for kTrainNodes; empty: every split's training nodes
  uint64_t seed = 0;
  int threads = 1;             // number of threads; results do not depend on it
  WorkMeter* meter = nullptr;  // unless null: counts the bytes of neighbors that Streaming reads
  // The memory in bytes that Streaming may use, not counting mapped files: at least LeastStreamingMemory
  // (memory_need.h), or 0 for no limit. Results do not depend on it. If the neighbors of all nodes might not fit, they
  // are all stored in one file, which `make_scratch` creates.
  uint64_t memory_bytes = 0;
  std::function<Result<ScratchSpace>(uint64_t size_bytes)> make_scratch = nullptr;  // required if memory_bytes > 0
};

// assignment[node type][original ID] = partition.
using Assignment = std::vector<std::vector<uint32_t>>;

// Assigns every node of a graph to a partition. Thread-compatible.
class Partitioner {
 public:
  virtual ~Partitioner() = default;
  virtual const char* name() const = 0;  // as in the job document, such as "METIS"
  virtual int version() const = 0;       // part of the partition key; increased when results change
  // Returns the assignment, a deterministic function of the graph and the options. InvalidArgument if the graph exceeds
  // a limit of the algorithm (the message names the limit and an alternative), or if the options or an external
  // assignment do not fit the graph. All partitioners except Random and External return the errors of CheckEdges
  // (input_checks.h); METIS and Multilevel return ResourceExhausted if METIS runs out of memory.
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
