// A partitioned graph as a program sees it: one graph, whoever holds its parts. What DGL calls DistGraph.
//
// Ids are global and type-wise (graph/ids.h); LookUp translates the user's. Questions go to all owners at once, in
// one request per partition; each ends within the context's call_timeout.
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

// Nodes by type; types that are left out have none.
using NodesByType = std::map<NodeTypeId, std::vector<GlobalNodeId>>;
// In-edges per node by relation: a number, sampler::kFullNeighborhood for all; relations left out are not drawn.
using Fanouts = std::map<EdgeTypeId, int32_t>;

// One hop: the drawn in-edges of the seeds, relation by relation.
struct FrontierRelation {
  EdgeTypeId edge_type;
  std::vector<GlobalNodeId> destinations;  // [D] the seeds of the relation's destination type
  std::vector<uint64_t> offsets;           // [D + 1] edges of destination i: [offsets[i], offsets[i + 1])
  std::vector<GlobalNodeId> sources;       // [E] those of a destination by their stored positions
  std::vector<GlobalEdgeId> edge_ids;      // [E]; empty where not asked for
};
struct Frontier {
  std::vector<FrontierRelation> relations;  // ascending edge type
};

// A frontier with rows instead of ids: destinations first, then further sources by first occurrence.
struct BlockWithNodes {
  std::vector<std::vector<GlobalNodeId>> nodes;  // by NodeTypeId: node of each row read
  sampler::BatchLayer layer;
};

struct DrawOptions {
  uint64_t seed = 0;  // equal seeds and positions draw equal edges, whatever the partitioning
  sampler::HopPosition at;
  bool replace = false;
  std::string weight_column;  // empty: uniform; a column of 0 and 1 is a mask: where it is 0 nothing is drawn
  bool want_edge_ids = false;
  sampler::DrawMethod method = sampler::DrawMethod::kNeighbor;
  bool layer_dependency = false;  // LABOR: one variate for a source whatever at.hop is
  // Temporal: the edge column that orders in-edges, and for each type of seeds one time for each seed; no later in-edge
  // is drawn.
  std::string time_column = {};
  std::map<NodeTypeId, std::vector<int64_t>> times = {};
  // Edges that are drawn as if the graph did not have them, by their ends, in any order: a full fan-out stays full.
  // (DGL's exclude_edges, which takes ids: FindEdges has their ends.)
  std::map<EdgeTypeId, std::vector<sampler::EdgeEnds>> excluded = {};
};

// Edges by type; types that are left out have none.
using EdgesByType = std::map<EdgeTypeId, std::vector<GlobalEdgeId>>;

// A part of the graph as a graph of its own: its edges, and the nodes at their ends.
struct SubgraphRelation {
  EdgeTypeId edge_type;
  std::vector<GlobalEdgeId> edge_ids;  // [edges]
  std::vector<uint32_t> sources;       // [edges] rows of Subgraph::nodes of the source's type
  std::vector<uint32_t> destinations;  // [edges] likewise of the destination's
};
struct Subgraph {
  std::vector<std::vector<GlobalNodeId>> nodes;  // by NodeTypeId: the node of each row
  std::vector<SubgraphRelation> relations;       // ascending edge type
};

// Thread-safe. Several may exist at once and be destroyed in any order.
class DistGraph {
 public:
  // Waits until every server is up, at most the context's connect timeout.
  static Result<std::unique_ptr<DistGraph>> Open(const Context& context);
  // Over partitions that are already there; for programs that hold them in their own process, and for tests.
  DistGraph(std::string name, std::shared_ptr<sampler::PartitionedGraph> partitions, const Context& context);

  const std::string& name() const { return name_; }
  // What the graph was opened with; of Open with the partition key and the incarnation that its servers have.
  const Context& context() const { return context_; }
  Rank rank() const { return context_.rank; }
  uint32_t world_size() const { return context_.world_size; }

  const graph::PartitionBook& book() const { return graph_->book(); }
  const graph::GraphSchema& schema() const { return book().schema(); }
  uint64_t num_nodes(NodeTypeId type) const { return book().num_nodes(type); }
  uint64_t num_nodes() const { return book().num_nodes(); }
  uint64_t num_edges(EdgeTypeId type) const { return book().num_edges(type); }
  uint64_t num_edges() const { return book().num_edges(); }
  // Columns of the graph, sorted by (type, name), with dtype and row shape: copies of sources' columns
  // ("source.<column>") among those of edges, attached tensors among neither.
  const std::vector<sampler::ColumnDescription>& node_columns() const { return graph_->columns(); }
  const std::vector<sampler::EdgeColumnDescription>& edge_columns() const { return graph_->description().edge_columns; }

  // Errors of all questions below. InvalidArgument: a type, node or edge that does not exist; ResourceExhausted: 2^32
  // of them or more at once; Unavailable, DeadlineExceeded: a server is not reached in time; Cancelled: the channel's
  // stop.

  // Rows of a column, or of a tensor attached as one, in the order of `nodes`: [nodes.size(), row_shape...]. NotFound:
  // there is no such column; it names those that there are.
  Result<Tensor> NodeRows(NodeTypeId type, const std::string& column, const std::vector<GlobalNodeId>& nodes) const;
  // Rows of an edge column (features, labels, weights), or of a tensor attached as one (dist_tensor.h), in the order of
  // `edges`: [edges.size(), row_shape...]. NotFound: there is neither.
  Result<Tensor> EdgeRows(EdgeTypeId type, const std::string& column, const std::vector<GlobalEdgeId>& edges) const;
  // Global ids of the user's ids, in the same order. OutOfRange: an id that the user's files do not have.
  Result<std::vector<GlobalNodeId>> LookUp(NodeTypeId type, const std::vector<OriginalNodeId>& nodes) const;
  // All nodes of a split's part, in the order of their original ids. NotFound: there is no such split; it names those
  // that there are.
  Result<std::vector<GlobalNodeId>> SplitNodes(NodeTypeId type, const std::string& split,
                                               graph::SplitPartName part) const;

  // Nodes of `seeds` are distinct. With times they may repeat; the frontier then has a row for each seed as given,
  // which ToBlock cannot tell apart: batches of several hops up to a time are NodeDataLoader's
  // (sampler::FanoutSampler's).
  Result<Frontier> SampleNeighbors(const NodesByType& seeds, const Fanouts& fanouts, const DrawOptions& options) const;
  // All in-edges of `nodes`, all relations, with edge ids.
  Result<Frontier> InSubgraph(const NodesByType& nodes) const;
  // The subgraph of these edges, of any relations and owners, in the order given and as often as given. Rows are
  // numbered by first occurrence: relation by relation all sources, then all destinations. (DGL's edge_subgraph.)
  Result<Subgraph> EdgeSubgraph(const EdgesByType& edges) const;
  // Rows of `destinations` come first in the order given; InvalidArgument unless they are those of the frontier, and
  // distinct.
  Result<BlockWithNodes> ToBlock(const Frontier& frontier, const NodesByType& destinations) const;

  // Walks against the direction of edges, a request per partition for each step (sampler/walks/random_walk.h).
  Result<sampler::RandomWalks> RandomWalk(const std::vector<GlobalNodeId>& starts,
                                          const sampler::WalkOptions& options) const {
    return sampler::RandomWalk(*graph_, starts, options, CallDeadline());
  }
  // The nodes that walks from each seed visit most (sampler/walks/pinsage_neighbors.h).
  Result<sampler::PinSageNeighbors> PinSageNeighbors(const std::vector<GlobalNodeId>& seeds,
                                                     const sampler::PinSageOptions& options) const {
    return sampler::FindPinSageNeighbors(*graph_, seeds, options, CallDeadline());
  }

  // U32 [nodes] under one relation. (Out-degrees are the node column that partitioning wrote.)
  Result<Tensor> InDegrees(EdgeTypeId type, const std::vector<GlobalNodeId>& nodes) const;
  // I64 [2, edges] global ids: sources, then destinations.
  Result<Tensor> FindEdges(EdgeTypeId type, const std::vector<GlobalEdgeId>& edges) const;

  // What a function of the servers' plugins answers (docs/server-plugins.md), `function` being "plugin/function": of
  // one partition's server, or of every partition's, asked at once with the same request, in their order. Unimplemented
  // names the functions that there are. Where a server could not be reached it is asked again if the function is
  // idempotent or changes tensors; if not, Unavailable and DeadlineExceeded say nothing of whether it has run. Of
  // several errors the first.
  //
  // A function that changes tensors is called with TensorEffect::kChanges, and no other is (InvalidArgument). It runs
  // once on each server, or, where an error of the connection or of time comes back, at most once, and changes nothing
  // after a later change of this program. FailedPrecondition, besides the function's own: it has run, and its answer is
  // lost. It shares a window of 4096 numbers with this program's writes to that server: while it runs, those far past
  // it are retried until it ends.
  Result<std::string> CallFunction(PartitionId partition, const std::string& function, std::string_view request,
                                   TensorEffect effect = TensorEffect::kNone) const;
  Result<std::vector<std::string>> CallFunctionEverywhere(const std::string& function, std::string_view request,
                                                          TensorEffect effect = TensorEffect::kNone) const;

  // The sampler's view of the same graph.
  sampler::PartitionedGraph& partitions() const { return *graph_; }
  Deadline CallDeadline() const { return Deadline::After(context_.call_timeout); }

 private:
  const std::string name_;
  const std::shared_ptr<sampler::PartitionedGraph> graph_;
  const Context context_;
};

}  // namespace espalier::client
