// What PartitionedGraph's source files share.
#pragma once

#include <memory>
#include <vector>

#include "services/base/mutex.h"
#include "services/sampler/buffer_pool.h"
#include "services/sampler/partitioned_graph.h"

namespace espalier::sampler {

struct PartitionedGraph::State {
  // Two batches of features at a time are usual: one in use, one being fetched.
  static constexpr size_t kIdleRowBytes = size_t{1} << 30;

  State(GraphDescription d, std::vector<std::shared_ptr<PartitionAccess>> p)
      : description(std::move(d)), partitions(std::move(p)) {}

  // Fixed after construction.
  const GraphDescription description;
  const std::vector<std::shared_ptr<PartitionAccess>> partitions;
  BufferPool row_buffers{kIdleRowBytes};

  Mutex mutex;
  std::vector<ColumnDescription> mutable_columns ABSL_GUARDED_BY(mutex);

  // The column, immutable or mutable; NotFound names those that exist.
  Result<ColumnDescription> FindColumn(NodeTypeId type, const std::string& name);
  Status CheckNodeType(NodeTypeId type) const;
  Status CheckEdgeType(EdgeTypeId type) const;
  Status CheckNodes(NodeTypeId type, std::span<const GlobalNodeId> nodes) const;
};

}  // namespace espalier::sampler
