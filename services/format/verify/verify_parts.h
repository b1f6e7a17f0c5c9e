// The steps of VerifyPartitioning (verify.h). They rely only on the guarantees of LoadPartition.
#pragma once

#include <span>
#include <vector>

#include "services/format/verify/verify.h"
#include "services/graph/partition.h"

namespace espalier::format {

inline constexpr uint64_t kNoNode = ~uint64_t{0};
inline constexpr uint64_t kMeteredBytesOfEdge = 12;  // the source id, a share of indptr, and the original edge id

// All partitions of a graph, and the mapping between original and global node ids.
struct LoadedPartitioning {
  Manifest manifest;
  std::vector<graph::Partition> partitions;
  std::vector<std::vector<uint64_t>> original_of;  // original ids, by NodeTypeId, then by global id
  std::vector<std::vector<uint64_t>> global_of;    // global ids, by NodeTypeId, then by original id; kNoNode: not owned
  WorkMeter* meter = nullptr;                      // see VerifyOptions

  const graph::PartitionBook& book() const { return manifest.book; }
};

// Reads elements of a tensor of 32-bit or 64-bit ids.
class IdReader {
 public:
  explicit IdReader(const Tensor& ids) : dtype_(ids.dtype()), bytes_(ids.bytes()) {}
  uint64_t operator[](uint64_t i) const {
    if (dtype_ == DType::kU32 || dtype_ == DType::kI32) return reinterpret_cast<const uint32_t*>(bytes_)[i];
    return reinterpret_cast<const uint64_t*>(bytes_)[i];
  }

 private:
  DType dtype_;
  const std::byte* bytes_;
};

// Each function with a report verifies what its comment states, and adds violations to the report.

// Every node is owned exactly once, and the directory maps each original id to its global id. Fills original_of and
// global_of.
void VerifyNodes(LoadedPartitioning* loaded, VerifyReport* report);
// Over all partitions, the nodes of each part of a split have the ordinals 0, 1, ... in ascending order of original
// ids, and no node is in two parts.
void VerifySplits(const LoadedPartitioning& loaded, VerifyReport* report);
// Splits of edges: every ordinal is in exactly one partition. If the edges of a split are held out, none of its
// validation and test pairs is an edge or a training pair.
void VerifyEdgeSplits(const LoadedPartitioning& loaded, VerifyReport* report);
// In-edges are sorted in the declared order, out-degree columns match the edges, and edge columns that are copies of
// the source nodes' columns (Manifest::source_columns) equal these.
void VerifyEdges(const LoadedPartitioning& loaded, VerifyReport* report);
// Edge cut, replication and balance match the recorded values.
void VerifyQuality(const LoadedPartitioning& loaded, VerifyReport* report);
// Splits of edges match those of the source.
void CompareEdgeSplits(const LoadedPartitioning& loaded, const graph::SourceGraph& source, VerifyReport* report);
// Nodes, node splits and node columns match those of the source. Returns false if node types, edge types or node counts
// differ; edges cannot be compared then.
bool CompareNodes(const LoadedPartitioning& loaded, const graph::SourceGraph& source, VerifyReport* report);
// Edges and edge columns match those of the source, in the declared order.
void CompareEdges(const LoadedPartitioning& loaded, const graph::SourceGraph& source, VerifyReport* report);

// Returns the original ids of the nodes of a part of a split, by ordinal; kNoNode if no partition has the ordinal.
std::vector<uint64_t> CollectNodesByOrdinal(const LoadedPartitioning& loaded, const SplitEntry& split,
                                            graph::SplitPartName part);
// Returns the name of the time column in Manifest::in_edge_order; "" if the order does not start with a time.
std::string FindTimeColumn(const Manifest& manifest);
// Compares element i of `a` with element j of `b`, two columns of one number per row with the same dtype. Returns -1, 0
// or 1.
int CompareTimes(const Tensor& a, uint64_t i, const Tensor& b, uint64_t j);

}  // namespace espalier::format
