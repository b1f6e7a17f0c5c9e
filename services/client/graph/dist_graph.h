// Read access to a partitioned graph. Its partitions may be on graph servers or in this process. Counterpart of DGL's
// DistGraph.
//
// Ids are global and per type (graph/ids.h); ToGlobalIds translates original ids to global ids. A query is split by
// owner, and all owners are queried concurrently. A query fails when its deadline passes (by default, the context's
// call_timeout from now) or the deadline's stop is requested (Deadline::OrStop); the graph remains usable.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "services/client/session/initialize.h"
#include "services/sampler/batches/mini_batch.h"
#include "services/sampler/routing/partitioned_graph.h"
#include "services/sampler/walks/pinsage_neighbors.h"
#include "services/sampler/walks/random_walk.h"

namespace espalier::client {

using sampler::TensorEffect;

// Nodes by type; a type that is absent has no nodes.
using NodesByType = std::map<NodeTypeId, std::vector<GlobalNodeId>>;
// Fan-out by edge type: number of in-edges per node, or sampler::kFullNeighborhood for all of them. An edge type that
// is absent is not sampled.
using Fanouts = std::map<EdgeTypeId, int32_t>;

// The in-edges of one edge type that one hop sampled for the seeds.
struct FrontierRelation {
  EdgeTypeId edge_type;
  std::vector<GlobalNodeId> destinations;  // [D] seeds of the edge type's destination type
  std::vector<uint64_t> offsets;           // [D + 1] edges of destination i: [offsets[i], offsets[i + 1])
  std::vector<GlobalNodeId> sources;       // [E] for each destination, in the order of its in-edges
  std::vector<GlobalEdgeId> edge_ids;      // [E]; empty unless DrawOptions::want_edge_ids is set
};
// Result of one hop.
struct Frontier {
  std::vector<FrontierRelation> relations;  // ascending edge type
};

// A frontier with row numbers instead of node ids. Rows of the destinations come first, then the sources that are not
// destinations, by first occurrence.
struct BlockWithNodes {
  std::vector<std::vector<GlobalNodeId>> nodes;  // by NodeTypeId: the node of each input row
  sampler::BatchLayer layer;
};

// Options of DistGraph::SampleNeighbors.
struct DrawOptions {
  uint64_t seed = 0;  // with `at`, determines the sampled edges, which are the same under every partitioning
  sampler::HopPosition at;
  sampler::DrawSpec draw = {};
  bool want_edge_ids = false;  // whether to return FrontierRelation::edge_ids
  // Temporal sampling (draw.time_column): by type of the seeds, one time per seed. An in-edge whose value in the time
  // column is later than its seed's time is not sampled.
  std::map<NodeTypeId, std::vector<int64_t>> times = {};
  // By edge type, the endpoints of the edges to exclude, in any order. They are excluded before sampling, so other
  // edges fill the fan-out. (DGL's exclude_edges takes edge ids; FindEdges returns their endpoints.)
  std::map<EdgeTypeId, std::vector<sampler::EdgeEnds>> excluded = {};
};

// Edges by type; a type that is absent has no edges.
using EdgesByType = std::map<EdgeTypeId, std::vector<GlobalEdgeId>>;

// Edges of one type in a subgraph.
struct SubgraphRelation {
  EdgeTypeId edge_type;
  std::vector<GlobalEdgeId> edge_ids;  // [edges]
  std::vector<uint32_t> sources;       // [edges] rows of Subgraph::nodes of the source type
  std::vector<uint32_t> destinations;  // [edges] rows of Subgraph::nodes of the destination type
};
// A part of the graph as a separate graph: edges and their endpoints.
struct Subgraph {
  std::vector<std::vector<GlobalNodeId>> nodes;  // by NodeTypeId: the node of each row
  std::vector<SubgraphRelation> relations;       // ascending edge type
};

// Handle to a partitioned graph. Thread-safe. Several handles may exist at once and be destroyed in any order. A copy
// is a handle to the same graph. Connections or mapped files remain open while a handle, or a loader, tensor or
// embedding that was created with a handle, exists.
class DistGraph {
 public:
  // Connects to the graph servers, or opens the partitions in this process (session_options.h). Blocks until a server
  // of every partition is up, at most the context's connect timeout. InvalidArgument: missing or malformed addresses.
  // FailedPrecondition: servers hold different partitionings, a partition has no address or several that are not joined
  // as replicas (ESPALIER_SERVERS in initialize.h), the partition key differs from the context's, or the partitions
  // cannot be accessed as Context::session.access requires. Unavailable: no server of a partition responds. DataLoss:
  // damaged files.
  static Result<std::unique_ptr<DistGraph>> Open(const Context& context);
  // Wraps partitions that are already open; for programs that hold them in their own process, and for tests.
  DistGraph(std::string name, std::shared_ptr<sampler::PartitionedGraph> partitions, const Context& context);

  const std::string& name() const { return name_; }
  // The context the graph was opened with. Open fills in the partition key and the job's incarnation.
  const Context& context() const { return context_; }
  Rank rank() const { return context_.rank; }
  uint32_t world_size() const { return context_.world_size; }

  const graph::PartitionBook& book() const { return graph_->book(); }
  const graph::GraphSchema& schema() const { return book().schema(); }
  uint64_t num_nodes(NodeTypeId type) const { return book().num_nodes(type); }
  uint64_t num_nodes() const { return book().num_nodes(); }
  uint64_t num_edges(EdgeTypeId type) const { return book().num_edges(type); }
  uint64_t num_edges() const { return book().num_edges(); }
  // Named splits of nodes and of edges, with the size of each part, sorted by (type, name).
  const std::vector<sampler::GraphDescription::SplitCount>& node_splits() const { return graph_->description().splits; }
  const std::vector<sampler::GraphDescription::EdgeSplitCount>& edge_splits() const {
    return graph_->description().edge_splits;
  }
  // Descriptions of the graph's columns with dtype and row shape, sorted by (type, name). Edge columns include the
  // copies of source node columns ("source.<column>"). Attached tensors are not included. The dtype is that of the
  // partitions; rows of a column with scales are returned in F32 (ColumnDescription::value_dtype).
  const std::vector<sampler::ColumnDescription>& node_columns() const { return graph_->columns(); }
  const std::vector<sampler::EdgeColumnDescription>& edge_columns() const { return graph_->description().edge_columns; }

  // Errors of all queries below. InvalidArgument: a type, node or edge does not exist. ResourceExhausted: 2^32 or more
  // nodes or edges in one query. Unavailable, DeadlineExceeded: a server cannot be reached in time. Cancelled: the stop
  // of SessionOptions::channel or of the deadline was requested. FailedPrecondition: this process was forked from one
  // that uses the graph.

  // Returns rows of a node column, or of a tensor attached as a column (DistTensor::AttachAs), in the order of `nodes`:
  // [nodes.size(), row_shape...]. NotFound: there is no such column; the message lists the existing columns.
  Result<Tensor> GatherNodeRows(NodeTypeId type, const std::string& column, std::span<const GlobalNodeId> nodes,
                                std::optional<Deadline> deadline = {}) const;
  // Like GatherNodeRows, but writes the nodes.size() rows consecutively to `out`, which may be pinned memory. Rows of a
  // graph column without scales (ColumnDescription::scales) are written without an intermediate copy. Nothing writes to
  // `out` after the call has returned. InvalidArgument: the size of `out` differs from that of the rows.
  Status GatherNodeRowsInto(NodeTypeId type, const std::string& column, std::span<const GlobalNodeId> nodes,
                            std::span<std::byte> out, std::optional<Deadline> deadline = {}) const;
  // Returns rows of an edge column (features, labels, weights), or of a tensor attached as a column
  // (DistTensor::AttachAs), in the order of `edges`: [edges.size(), row_shape...]. NotFound: there is no such column or
  // attached tensor.
  Result<Tensor> GatherEdgeRows(EdgeTypeId type, const std::string& column, std::span<const GlobalEdgeId> edges,
                                std::optional<Deadline> deadline = {}) const;
  // Returns the global ids of original ids, in the same order. OutOfRange: an id that the input graph does not have.
  Result<std::vector<GlobalNodeId>> ToGlobalIds(NodeTypeId type, std::span<const OriginalNodeId> nodes,
                                                std::optional<Deadline> deadline = {}) const;
  // Returns all nodes of one part of a split, in the order of their original ids. NotFound: there is no such split; the
  // message lists the existing splits.
  Result<std::vector<GlobalNodeId>> SplitNodes(NodeTypeId type, const std::string& split, graph::SplitPartName part,
                                               std::optional<Deadline> deadline = {}) const;

  // Samples in-edges of `seeds` for one hop. Seeds must be distinct unless DrawOptions::times is set. With times a node
  // may repeat: the frontier has one destination for each element of `seeds`. ToBlock does not accept a frontier in
  // which a node repeats; NodeDataLoader builds temporal mini-batches of several hops (sampler::FanoutSampler).
  Result<Frontier> SampleNeighbors(const NodesByType& seeds, const Fanouts& fanouts, const DrawOptions& options,
                                   std::optional<Deadline> deadline = {}) const;
  // Returns all in-edges of `nodes`, of all edge types, with edge ids.
  Result<Frontier> InSubgraph(const NodesByType& nodes, std::optional<Deadline> deadline = {}) const;
  // Returns the subgraph of these edges, of any edge types and owners, in the given order; repeated edges stay
  // repeated. Rows of nodes are numbered by first occurrence: for each edge type all sources, then all destinations.
  // Counterpart of DGL's edge_subgraph.
  Result<Subgraph> EdgeSubgraph(const EdgesByType& edges, std::optional<Deadline> deadline = {}) const;
  // Converts a frontier to a block. Rows of `destinations` come first, in the given order. InvalidArgument:
  // `destinations` are not distinct, or differ from those of the frontier.
  Result<BlockWithNodes> ToBlock(const Frontier& frontier, const NodesByType& destinations) const;

  // Runs random walks against the direction of edges; each step of a walk takes one request per partition
  // (sampler/walks/random_walk.h).
  Result<sampler::RandomWalks> RandomWalk(const std::vector<GlobalNodeId>& starts, const sampler::WalkOptions& options,
                                          std::optional<Deadline> deadline = {}) const {
    return sampler::RandomWalk(*graph_, starts, options, deadline.value_or(CallDeadline()));
  }
  // Returns the nodes that random walks from each seed visit most often (sampler/walks/pinsage_neighbors.h).
  Result<sampler::PinSageNeighbors> PinSageNeighbors(const std::vector<GlobalNodeId>& seeds,
                                                     const sampler::PinSageOptions& options,
                                                     std::optional<Deadline> deadline = {}) const {
    return sampler::FindPinSageNeighbors(*graph_, seeds, options, deadline.value_or(CallDeadline()));
  }

  // Returns the in-degrees of nodes for one edge type: U32 [nodes]. (The partitioner writes out-degrees as a node
  // column.)
  Result<Tensor> InDegrees(EdgeTypeId type, std::span<const GlobalNodeId> nodes,
                           std::optional<Deadline> deadline = {}) const;
  // Returns the endpoints of edges as global ids: I64 [2, edges], sources first, then destinations.
  Result<Tensor> FindEdges(EdgeTypeId type, std::span<const GlobalEdgeId> edges,
                           std::optional<Deadline> deadline = {}) const;

  // Calls a function of a server plugin (docs/server-plugins.md) and returns its response. `function` is
  // "plugin/function". CallFunction calls it for one partition; CallFunctionEverywhere calls it for all partitions
  // concurrently with the same request and returns responses in partition order, or the first error. If a partition has
  // several servers, only the first one runs functions. Unimplemented: there is no such function; the message lists the
  // existing functions. If a server cannot be reached, the call is retried only if the function is idempotent or
  // changes tensors. Any other function may or may not have run if the call returns Unavailable or DeadlineExceeded.
  //
  // A function that changes tensors must be called with TensorEffect::kChanges, every other function with kNone
  // (InvalidArgument otherwise). With kChanges the function runs exactly once per partition, or at most once if a
  // connection error or a timeout is returned. If the call's message arrives after the call has ended, and the server
  // has applied a later change by this program, the message has no effect. FailedPrecondition: the function returned
  // it, or the function has run but its response is lost. The call and this program's writes to the same server share a
  // window of 4096 sequence numbers: while the function runs, at most 4095 later writes are applied, and further writes
  // are retried until the function has ended.
  Result<std::string> CallFunction(PartitionId partition, const std::string& function, std::string_view request,
                                   TensorEffect effect = TensorEffect::kNone,
                                   std::optional<Deadline> deadline = {}) const;
  Result<std::vector<std::string>> CallFunctionEverywhere(const std::string& function, std::string_view request,
                                                          TensorEffect effect = TensorEffect::kNone,
                                                          std::optional<Deadline> deadline = {}) const;

  // Returns the interface through which samplers use this graph.
  sampler::PartitionedGraph& partitions() const { return *graph_; }
  std::shared_ptr<sampler::PartitionedGraph> shared_partitions() const { return graph_; }
  // Returns the store of learnable rows. The pointer shares ownership of the graph.
  std::shared_ptr<sampler::EmbeddingStore> embeddings() const { return {graph_, &graph_->embeddings()}; }
  // Returns the default deadline of calls: the context's call_timeout from now.
  Deadline CallDeadline() const { return Deadline::After(context_.call_timeout).OrStop(stop_); }
  // Returns a copy of this handle whose CallDeadline also ends when `stop` is requested. `stop` replaces the stop of an
  // earlier WithStop. Use the copy to stop functions that take a graph but no deadline. Objects that such functions
  // return, for example a DistTensor, keep the copy and its stop.
  DistGraph WithStop(std::stop_token stop) const {
    DistGraph graph = *this;
    graph.stop_ = std::move(stop);
    return graph;
  }

 private:
  std::string name_;
  std::shared_ptr<sampler::PartitionedGraph> graph_;
  Context context_;
  std::stop_token stop_;
};

}  // namespace espalier::client
