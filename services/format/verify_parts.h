// The parts of verify.h's work. They trust only what LoadPartition guarantees.
#pragma once

#include <span>
#include <vector>

#include "services/format/verify.h"
#include "services/graph/partition.h"

namespace espalier::format {

inline constexpr uint64_t kNoNode = ~uint64_t{0};
inline constexpr uint64_t kMeteredBytesOfEdge = 12;  // its source, a share of its row's bounds, and its original id

// All partitions of a graph, and where each node went.
struct LoadedPartitioning {
  Manifest manifest;
  std::vector<graph::Partition> partitions;
  std::vector<std::vector<uint64_t>> original_of;  // by NodeTypeId, by global id
  std::vector<std::vector<uint64_t>> global_of;    // by NodeTypeId, by original id; kNoNode where nobody owns it
  WorkMeter* meter = nullptr;                      // as VerifyOptions has it

  const graph::PartitionBook& book() const { return manifest.book; }
};

// Element i of ids of any integer type.
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

// Fills original_of and global_of: every node is owned exactly once and the directory inverts the original ids.
void VerifyNodes(LoadedPartitioning* loaded, VerifyReport* report);
// Splits' ordinals count their nodes by original id, over all partitions.
void VerifySplits(const LoadedPartitioning& loaded, VerifyReport* report);
// Splits of edges: every ordinal is in exactly one partition, and what is held out is neither an edge nor trained on.
void VerifyEdgeSplits(const LoadedPartitioning& loaded, VerifyReport* report);
// In-edges stand in the declared order, and out-degree columns count them.
void VerifyEdges(const LoadedPartitioning& loaded, VerifyReport* report);
// Cut, replication and balance are those recorded.
void VerifyQuality(const LoadedPartitioning& loaded, VerifyReport* report);
// Splits of edges are the source's.
void CompareEdgeSplits(const LoadedPartitioning& loaded, const graph::SourceGraph& source, VerifyReport* report);
// Nodes, splits and node columns are the source's. False where types or counts differ: edges cannot be compared then.
bool CompareNodes(const LoadedPartitioning& loaded, const graph::SourceGraph& source, VerifyReport* report);
// Edges and edge columns are the source's, in the declared order.
void CompareEdges(const LoadedPartitioning& loaded, const graph::SourceGraph& source, VerifyReport* report);

// The original ids of a part of a split, by ordinal; kNoNode where no partition has the ordinal.
std::vector<uint64_t> NodesByOrdinal(const LoadedPartitioning& loaded, const SplitEntry& split,
                                     graph::SplitPartName part);
// The column that in-edges are ordered by first; "" where there is none.
std::string FindTimeColumn(const Manifest& manifest);
// Whether element i of a column of one number per row is less than, equal to or greater than element j of another
// column of the same type: -1, 0, 1.
int CompareTimes(const Tensor& a, uint64_t i, const Tensor& b, uint64_t j);

}  // namespace espalier::format
