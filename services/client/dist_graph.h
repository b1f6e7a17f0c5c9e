// A partitioned graph as one graph, wherever its partitions are. Counterpart of DGL's DistGraph.
//
// Ids are global and per type (graph/ids.h); ToGlobalIds converts original ids. A query sends one request to each
// partition that owns some of its ids, in parallel, and ends within the context's call_timeout.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/client/initialize.h"
#include "services/sampler/batches/mini_batch.h"
#include "services/sampler/routing/partitioned_graph.h"
#include "services/sampler/walks/pinsage_neighbors.h"
#include "services/sampler/walks/random_walk.h"

namespace espalier::client {

using sampler::TensorEffect;

// Nodes by type; a missing type has no nodes.
using NodesByType = std::map<NodeTypeId, std::vector<GlobalNodeId>>;
// Number of in-edges to sample per node, by edge type; sampler::kFullNeighborhood: all. A missing edge type is not
// sampled.
using Fanouts = std::map<EdgeTypeId, int32_t>;

// Sampled in-edges of one hop, by edge type.
struct FrontierRelation {
  EdgeTypeId edge_type;
  std::vector<GlobalNodeId> destinations;  // [D] seed nodes of the destination type
  std::vector<uint64_t> offsets;           // [D + 1] edges of destination i: [offsets[i], offsets[i + 1])
  std::vector<GlobalNodeId> sources;       // [E] in stored order within a destination
  std::vector<GlobalEdgeId> edge_ids;      // [E]; empty unless DrawOptions::want_edge_ids
};
struct Frontier {
  std::vector<FrontierRelation> relations;  // ascending edge type
};

// A frontier with rows instead of node ids: destinations first, then the other sources by first occurrence. Counterpart
// of DGL's block (message flow graph).
struct BlockWithNodes {
  std::vector<std::vector<GlobalNodeId>> nodes;  // by NodeTypeId: global id of each source row
  sampler::BatchLayer layer;
};

struct DrawOptions {
  uint64_t seed = 0;  // the same seed and position sample the same edges, for every partitioning
  sampler::HopPosition at;
  bool replace = false;
  std::string weight_column;  // empty: uniform; a column of 0 and 1 is a mask: edges with 0 are not sampled
  bool want_edge_ids = false;
  sampler::DrawMethod method = sampler::DrawMethod::kNeighbor;
  bool layer_dependency = false;  // LABOR: a source node has the same random variate in every hop
  // Temporal sampling: the edge column with timestamps, and by seed type one timestamp per seed. In-edges that are
  // later than their seed are not sampled.
  std::string time_column = {};
  std::map<NodeTypeId, std::vector<int64_t>> times = {};
  // Edges to exclude, by their end nodes, in any order. They are excluded before sampling, so that a node with enough
  // other in-edges still gets its full fan-out. DGL's exclude_edges takes ids; FindEdges returns the ends of ids.
  std::map<EdgeTypeId, std::vector<sampler::EdgeEnds>> excluded = {};
};

// Edges by type; a missing type has no edges.
using EdgesByType = std::map<EdgeTypeId, std::vector<GlobalEdgeId>>;

// Edges and their end nodes, renumbered.
struct SubgraphRelation {
  EdgeTypeId edge_type;
  std::vector<GlobalEdgeId> edge_ids;  // [edges]
  std::vector<uint32_t> sources;       // [edges] rows of Subgraph::nodes of the source type
  std::vector<uint32_t> destinations;  // [edges] rows of Subgraph::nodes of the destination type
};
struct Subgraph {
  std::vector<std::vector<GlobalNodeId>> nodes;  // by NodeTypeId: global id of each row
  std::vector<SubgraphRelation> relations;       // ascending edge type
};

// Thread-safe. Several graphs may exist at once and be destroyed in any order.
class DistGraph {
 public:
  // Connects to the servers, or opens the partitions of standalone mode. Waits for at most the context's connect
  // timeout until every partition has a server that is up.
  static Result<std::unique_ptr<DistGraph>> Open(const Context& context);
  // Uses partitions that are already open; for programs that hold them in their own process, and for tests.
  DistGraph(std::string name, std::shared_ptr<sampler::PartitionedGraph> partitions, const Context& context);

  const std::string& name() const { return name_; }
  // Returns the context of Open, completed with the partition key and the incarnation that the servers reported.
  const Context& context() const { return context_; }
  Rank rank() const { return context_.rank; }
  uint32_t world_size() const { return context_.world_size; }

  const graph::PartitionBook& book() const { return graph_->book(); }
  const graph::GraphSchema& schema() const { return book().schema(); }
  uint64_t num_nodes(NodeTypeId type) const { return book().num_nodes(type); }
  uint64_t num_nodes() const { return book().num_nodes(); }
  uint64_t num_edges(EdgeTypeId type) const { return book().num_edges(type); }
  uint64_t num_edges() const { return book().num_edges(); }
  // Return the columns of the graph with dtype and row shape, sorted by (type, name). Edge columns include the copies
  // "source.<column>" of node columns; attached tensors are not included.
  const std::vector<sampler::ColumnDescription>& node_columns() const { return graph_->columns(); }
  const std::vector<sampler::EdgeColumnDescription>& edge_columns() const { return graph_->description().edge_columns; }

  // Errors of all queries below. InvalidArgument: a type, node or edge that does not exist; ResourceExhausted: 2^32 ids
  // or more in one call; Unavailable, DeadlineExceeded: a server could not be reached in time; Cancelled: the stop of
  // the channel was requested.

  // Returns the rows of a node column, or of a tensor that is attached as one, in the order of `nodes`:
  // [nodes.size(), row_shape...]. NotFound lists the columns that exist.
  Result<Tensor> GatherNodeRows(NodeTypeId type, const std::string& column,
                                const std::vector<GlobalNodeId>& nodes) const;
  // Returns the rows of an edge column (features, labels, weights), or of a tensor that is attached as one
  // (dist_tensor.h), in the order of `edges`: [edges.size(), row_shape...]. NotFound: no such column or tensor.
  Result<Tensor> GatherEdgeRows(EdgeTypeId type, const std::string& column,
                                const std::vector<GlobalEdgeId>& edges) const;
  // Returns the global ids of original ids, in the same order. OutOfRange: an original id that the graph does not have.
  Result<std::vector<GlobalNodeId>> ToGlobalIds(NodeTypeId type, const std::vector<OriginalNodeId>& nodes) const;
  // Returns all nodes of a part of a split, in the order of their original ids. NotFound lists the splits that exist.
  Result<std::vector<GlobalNodeId>> SplitNodes(NodeTypeId type, const std::string& split,
                                               graph::SplitPartName part) const;

  // Samples one hop. `seeds` are distinct, except with options.times: then seeds may repeat, the frontier has one row
  // per seed as given, and ToBlock cannot be used. For temporal mini-batches of several hops use NodeDataLoader
  // (sampler::FanoutSampler).
  Result<Frontier> SampleNeighbors(const NodesByType& seeds, const Fanouts& fanouts, const DrawOptions& options) const;
  // Returns all in-edges of `nodes`, of all edge types, with edge ids.
  Result<Frontier> InSubgraph(const NodesByType& nodes) const;
  // Returns the subgraph of these edges, in the given order and multiplicity. Rows of nodes are numbered by first
  // occurrence: by edge type, all sources, then all destinations. Counterpart of DGL's edge_subgraph.
  Result<Subgraph> EdgeSubgraph(const EdgesByType& edges) const;
  // Renumbers a frontier. The rows of `destinations` come first, in the given order; InvalidArgument unless they are
  // distinct and the destinations of the frontier.
  Result<BlockWithNodes> ToBlock(const Frontier& frontier, const NodesByType& destinations) const;

  // Random walks along in-edges, with one request per partition and step (sampler/walks/random_walk.h).
  Result<sampler::RandomWalks> RandomWalk(const std::vector<GlobalNodeId>& starts,
                                          const sampler::WalkOptions& options) const {
    return sampler::RandomWalk(*graph_, starts, options, CallDeadline());
  }
  // Returns the nodes that random walks from each seed visit most often (sampler/walks/pinsage_neighbors.h).
  Result<sampler::PinSageNeighbors> PinSageNeighbors(const std::vector<GlobalNodeId>& seeds,
                                                     const sampler::PinSageOptions& options) const {
    return sampler::FindPinSageNeighbors(*graph_, seeds, options, CallDeadline());
  }

  // Returns in-degrees of one edge type: U32 [nodes]. (Out-degrees are a node column that partitioning writes.)
  Result<Tensor> InDegrees(EdgeTypeId type, const std::vector<GlobalNodeId>& nodes) const;
  // Returns the end nodes of edges: I64 [2, edges], global ids of sources, then of destinations.
  Result<Tensor> FindEdges(EdgeTypeId type, const std::vector<GlobalEdgeId>& edges) const;

  // Calls a function of a server plugin (docs/server-plugins.md), `function` being "plugin/function", on the server of
  // one partition, or on the server of every partition in parallel with the same request; returns the replies, in the
  // order of partitions. Of several errors the first is returned. Unimplemented lists the functions that exist. If a
  // server cannot be reached, the call is retried where the function is idempotent or changes tensors; otherwise
  // Unavailable and DeadlineExceeded do not tell whether the function has run.
  //
  // `effect` must be TensorEffect::kChanges for a function that changes tensors, and kNone for every other
  // (InvalidArgument). A function that changes tensors runs once per server, or at most once if a connection error or
  // deadline is returned, and never after a later write of this program. FailedPrecondition, unless the function itself
  // returned it: the function has run and its reply is lost. Such a call occupies one number of a window of 4096 that
  // it shares with the writes of this program to that server; writes beyond the window are retried until it ends.
  Result<std::string> CallFunction(PartitionId partition, const std::string& function, std::string_view request,
                                   TensorEffect effect = TensorEffect::kNone) const;
  Result<std::vector<std::string>> CallFunctionEverywhere(const std::string& function, std::string_view request,
                                                          TensorEffect effect = TensorEffect::kNone) const;

  // Returns the same graph for the sampling library.
  sampler::PartitionedGraph& partitions() const { return *graph_; }
  Deadline CallDeadline() const { return Deadline::After(context_.call_timeout); }

 private:
  const std::string name_;
  const std::shared_ptr<sampler::PartitionedGraph> graph_;
  const Context context_;
};

}  // namespace espalier::client
