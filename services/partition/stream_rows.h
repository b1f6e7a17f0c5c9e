// The neighbors of all vertices, in the order in which the partition algorithm Streaming visits the vertices. They are
// in memory or in a file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "services/base/permutation.h"
#include "services/graph/source_graph.h"
#include "services/partition/partitioner.h"

namespace espalier::partition {

// With the memory that Streaming requires (LeastStreamingMemory in memory_need.h), it reads the edge lists at most
// about this many times. This bounds its running time.
inline constexpr uint64_t kMaxEdgeReads = 16;

struct StreamRowsOptions {
  int threads = 1;  // number of threads; only the order of the neighbors within a row may depend on it
  // Limit of the number of neighbors in memory at a time, 4 bytes each. Must not be less than the size of the largest
  // row.
  uint64_t max_neighbors_in_memory = ~uint64_t{0};
  // Creates the file for the neighbors. Called only if twice the number of edges exceeds max_neighbors_in_memory, and
  // before the edges are read.
  std::function<Result<ScratchSpace>(uint64_t size_bytes)> make_scratch;
};

// The undirected graph (undirected_graph.h) as rows: row i has the neighbors of vertex order.At(i), each as often as
// there are edges between the two. Self loops are omitted. Immutable after Build; thread-safe.
class StreamRows {
 public:
  // Builds the rows. The edges must have passed CheckEdges, and there must be fewer than 2^32 vertices. Memory: 12
  // bytes per vertex, and 8 bytes per edge or 4 * max_neighbors_in_memory bytes if that is less. InvalidArgument if a
  // single row exceeds max_neighbors_in_memory; errors of make_scratch.
  static Result<StreamRows> Build(const graph::SourceGraph& graph, const Permutation& order,
                                  const StreamRowsOptions& options);

  StreamRows(StreamRows&&) = default;
  StreamRows(const StreamRows&) = delete;  // neighbors() refers to this object's memory

  // Returns the neighbors of all rows, one row after another.
  std::span<const uint32_t> neighbors() const { return neighbors_; }
  // Returns the first position of each row in neighbors(): [vertices + 1].
  const std::vector<uint64_t>& offsets() const { return offsets_; }
  // Returns the number of times that a neighbor is contained in its row, if this number is the same for all neighbors
  // of all rows; equal neighbors are then adjacent. Returns 1 otherwise.
  uint32_t repetitions() const { return repetitions_; }

 private:
  StreamRows() = default;

  std::vector<uint64_t> offsets_;
  std::vector<uint32_t> in_memory_;    // empty if the neighbors are in a file
  std::shared_ptr<const void> owner_;  // keeps the file mapped
  std::span<const uint32_t> neighbors_;
  uint32_t repetitions_ = 1;
};

}  // namespace espalier::partition
