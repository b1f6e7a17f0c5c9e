// The state of PartitionedGraph, shared by its source files.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/base/buffer_pool.h"
#include "services/base/mutex.h"
#include "services/sampler/routing/partition_fan_out.h"
#include "services/sampler/routing/partitioned_graph.h"
#include "services/sampler/routing/partitioned_tensors.h"
#include "services/sampler/routing/row_routing.h"

namespace espalier::sampler {

struct PartitionedGraph::State {
  // Limit for the idle memory of row_buffers, in bytes: meant for the rows of two batches, because one batch is used
  // while the next one is fetched.
  static constexpr size_t kIdleRowBytes = size_t{1} << 30;

  State(GraphDescription d, std::vector<std::shared_ptr<PartitionAccess>> p)
      : description(std::move(d)),
        partitions(std::move(p)),
        tensors(description.book, partitions, row_buffers),
        embeddings(tensors, partitions) {
    for (const auto& partition : partitions) in_process.push_back(partition->is_in_process());
  }

  // Fixed after construction.
  const GraphDescription description;
  const std::vector<std::shared_ptr<PartitionAccess>> partitions;
  std::vector<bool> in_process;  // by partition
  BufferPool row_buffers{kIdleRowBytes};
  PartitionedTensors tensors;        // thread-safe
  PartitionedEmbeddings embeddings;  // thread-safe

  Mutex mutex;
  struct Attached {
    TensorHandle tensor;
    Attachment attachment;
  };
  std::map<std::pair<RowSpace, std::string>, Attached> attached ABSL_GUARDED_BY(mutex);  // by (row space, column name)
  uint64_t num_attachments ABSL_GUARDED_BY(mutex) = 0;

  // Requests in progress for rows of an immutable column. After all responses have arrived, the caller calls
  // plan->CopyRepeats, which copies the rows of repeated nodes.
  struct Gather {
    std::shared_ptr<GatherPlan<LocalNodeId>> plan;
    size_t row_bytes = 0;
    std::shared_ptr<PartitionFanOut<Nothing>> answers;
  };
  // Starts to gather the rows of `nodes`, which must exist: the row of nodes[i] goes to row places[i] of `rows`, or to
  // row i if `places` is empty.
  Gather StartGather(const ColumnDescription& column, std::span<const GlobalNodeId> nodes,
                     std::span<const uint32_t> places, std::shared_ptr<std::byte> rows, Deadline deadline);

  // Returns the immutable column, or null if there is none.
  const ColumnDescription* FindImmutable(NodeTypeId type, const std::string& name) const;
  // Returns AlreadyExists if there is an immutable column of that name.
  Status CheckNoImmutable(const RowSpace& rows, const std::string& name) const;
  std::optional<TensorHandle> FindAttached(const RowSpace& rows, const std::string& name);
  // Returns NotFound, with a message that lists the existing columns.
  Status MakeNoColumnError(const RowSpace& rows, const std::string& name);
  Status CheckNodeType(NodeTypeId type) const;
  Status CheckEdgeType(EdgeTypeId type) const;
  Status CheckNodes(NodeTypeId type, std::span<const GlobalNodeId> nodes) const;
};

}  // namespace espalier::sampler
