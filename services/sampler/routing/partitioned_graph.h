// A graph that consists of partitions. A request is split by owner, all owners are called concurrently, and the
// responses are put into the order of the request. Independent of RPC: PartitionAccess calls a partition.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "services/sampler/access/neighbor_source.h"
#include "services/sampler/access/partition_access.h"
#include "services/sampler/access/row_source.h"
#include "services/sampler/access/seed_source.h"
#include "services/sampler/access/tensor_store.h"
#include "services/sampler/routing/embedding_store.h"
#include "services/sampler/routing/partitioned_tensors.h"

namespace espalier::sampler {

struct EdgeColumnDescription {
  EdgeTypeId edge_type;
  std::string name;
  DType dtype;
  std::vector<int64_t> row_shape;  // without the first dimension
  friend bool operator==(const EdgeColumnDescription&, const EdgeColumnDescription&) = default;
};

// What a client knows about a graph before its first request.
struct GraphDescription {
  graph::PartitionBook book;
  std::vector<ColumnDescription> columns;  // immutable node columns, sorted by (type, name), with kOriginalIdColumn
  // The numbers of nodes in the parts of a split.
  struct SplitCount {
    NodeTypeId node_type;
    std::string split;
    uint64_t train = 0, validation = 0, test = 0;
  };
  std::vector<SplitCount> splits;
  // The numbers of edges in the parts of a split.
  struct EdgeSplitCount {
    EdgeTypeId edge_type;
    std::string split;
    uint64_t train = 0, validation = 0, test = 0;
  };
  std::vector<EdgeSplitCount> edge_splits = {};
  std::vector<EdgeColumnDescription> edge_columns = {};  // immutable edge columns, sorted by (type, name)
};

// Identifies one call of Attach.
struct Attachment {
  RowSpace rows;
  std::string column;
  uint64_t number = 0;
};

// Thread-safe.
class PartitionedGraph final : public NeighborSource, public RowSource, public SeedSource, public TensorStore {
 public:
  // partitions[p] is partition p. Functions that gather rows request a repeated row once from a remote partition. From
  // a partition in this process they request it as often as it occurs, because finding repetitions would cost more.
  PartitionedGraph(GraphDescription description, std::vector<std::shared_ptr<PartitionAccess>> partitions);

  const graph::PartitionBook& book() const override;
  const std::vector<ColumnDescription>& columns() const override;
  const GraphDescription& description() const;

  Result<HopSample> SampleInEdges(const HopQuery& query, Deadline deadline) override;
  // InvalidArgument for a column that does not have one integer per node, and for a time of 2^63 or later; NotFound for
  // an attached tensor, because times are read only from columns of the graph.
  Result<std::vector<int64_t>> ReadTimes(NodeTypeId type, const std::string& column,
                                         std::span<const GlobalNodeId> nodes, Deadline deadline) override;
  Result<Tensor> GatherRows(NodeTypeId type, const std::string& column, std::span<const GlobalNodeId> nodes,
                            Deadline deadline) override;
  Status GatherRowsToPlaces(NodeTypeId type, const std::string& column, std::span<const GlobalNodeId> nodes,
                            std::span<const uint32_t> places, std::shared_ptr<std::byte> out,
                            Deadline deadline) override;
  bool is_remote(PartitionId partition) const override;
  // Like GatherRows, but writes the rows to the caller's memory, [nodes.size()] consecutive rows. After it has
  // returned, nothing writes to `out`. InvalidArgument if `out` has another size.
  Status GatherRowsInto(NodeTypeId type, const std::string& column, std::span<const GlobalNodeId> nodes,
                        std::span<std::byte> out, Deadline deadline);
  Result<uint64_t> Count(NodeTypeId type, const std::string& split, graph::SplitPartName part) override;
  Result<uint64_t> CountOfEdges(EdgeTypeId type, const std::string& split, graph::SplitPartName part) override;
  Result<GlobalBatch> SeedsOfStep(const SeedQuery& query, Deadline deadline) override;
  Result<std::vector<GlobalNodeId>> ToGlobalIds(NodeTypeId type, std::span<const OriginalNodeId> nodes,
                                                Deadline deadline) override;
  Result<Tensor> InDegrees(EdgeTypeId type, std::span<const GlobalNodeId> nodes, Deadline deadline) override;
  // Returns the endpoints of edges: I64 [2, edges], global ids, sources first.
  Result<Tensor> FindEdges(EdgeTypeId type, std::span<const GlobalEdgeId> edges, Deadline deadline);
  // Calls a function of the servers' plugins on these partitions concurrently, with the same request, U8 [n]. Returns
  // the responses, U8 [k], in the order of `partitions`, or the first error, after all partitions have responded.
  Result<std::vector<Tensor>> CallFunction(const std::vector<PartitionId>& partitions, const std::string& function,
                                           const Tensor& request, TensorEffect effect, Deadline deadline);

  // Returns the mutable tensors, whose rows belong to nodes, to edges or to neither (RowsOf); valid as long as this
  // object.
  PartitionedTensors& tensors();
  // Returns the learnable rows; valid as long as this object.
  EmbeddingStore& embeddings();
  // Makes the tensor's rows readable as the column `column` of its node or edge type, for all column reads through this
  // object except ReadTimes. Replaces a tensor attached earlier under the name. AlreadyExists if an immutable column of
  // the nodes or edges has the name.
  Result<Attachment> Attach(const std::string& column, const TensorHandle& tensor);
  // Undoes Attach. Does nothing if another tensor has been attached under the name since.
  void Detach(const Attachment& attachment);
  // Returns rows of the tensor that is attached to the edge type as `column` or, if there is none, of the immutable
  // column `column`: [edges.size(), row_shape...]. NotFound names the existing columns.
  Result<Tensor> GatherEdgeRows(EdgeTypeId type, const std::string& column, std::span<const GlobalEdgeId> edges,
                                Deadline deadline);

  // Also attaches the tensor as a column under its own name; DropTensor detaches it.
  Status CreateTensor(NodeTypeId type, const std::string& name, DType dtype, const std::vector<int64_t>& row_shape,
                      Deadline deadline) override;
  Status WriteRows(NodeTypeId type, const std::string& name, std::span<const GlobalNodeId> nodes, const Tensor& rows,
                   Deadline deadline) override;
  Status DropTensor(NodeTypeId type, const std::string& name, Deadline deadline) override;

 private:
  // ToGlobalIds for nodes whose ids fit in one message.
  Result<std::vector<GlobalNodeId>> LookUpChunk(NodeTypeId type, std::span<const OriginalNodeId> nodes,
                                                Deadline deadline);

  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace espalier::sampler
