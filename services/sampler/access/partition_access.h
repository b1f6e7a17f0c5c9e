// The interface to one partition. Requests for rows and in-edges identify the partition's own nodes by local ids; all
// other ids of nodes and edges, in requests and responses, are global ids unless stated otherwise. `shard::GraphShard`
// implements the interface for a partition in its own process (a graph server, or a client that has mapped the
// partition's files), `client::RemotePartition` calls a server over gRPC, and PartitionedGraph combines the responses
// of all partitions.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/tensor.h"
#include "services/graph/partition_book.h"
#include "services/sampler/access/partition_embeddings.h"
#include "services/sampler/access/partition_tensors.h"
#include "services/sampler/access/row_sink.h"
#include "services/sampler/access/row_source.h"
#include "services/sampler/access/seed_source.h"
#include "services/sampler/draws/sampling_spec.h"

namespace espalier::sampler {

struct PartitionRelationQuery {
  EdgeTypeId edge_type;
  int32_t fanout = 0;                     // > 0 or kFullNeighborhood
  std::vector<LocalNodeId> destinations;  // owned nodes
  std::vector<int64_t> times = {};        // as in RelationQuery
  std::vector<uint64_t> walks = {};       // as in RelationQuery
  // Excluded edges (RelationQuery::excluded), ascending by (destination, source).
  std::vector<LocalNodeId> excluded_destinations = {};  // [k]
  std::vector<GlobalNodeId> excluded_sources = {};      // [k]
};

struct PartitionHopQuery {
  std::vector<PartitionRelationQuery> relations;
  uint64_t seed = 0;
  HopPosition at;
  DrawSpec draw;
  bool want_edge_ids = false;
};

struct PartitionRelationSample {
  Tensor counts;    // U32 [destinations]: number of drawn in-edges of each
  Tensor sources;   // U32 or U64 [drawn]: global ids, concatenated in the order of destinations
  Tensor edge_ids;  // U32 or U64 [drawn]: global edge ids; empty if not requested
};

struct PartitionHopSample {
  std::vector<PartitionRelationSample> relations;
};

// The seeds of a step's global batch that this partition owns.
struct PartitionSeeds {
  Tensor positions;      // U32 [k] positions within the step's batch, ascending
  Tensor nodes;          // U32 or U64 [k] global ids; for edges, their destinations
  Tensor sources = {};   // for edges, U32 or U64 [k] global ids; for nodes, empty
  Tensor rows = {};      // [k, row shape...] of SeedQuery::edge_column; empty without one
  Tensor edge_ids = {};  // U32 or U64 [k] global ids if SeedQuery::want_edge_ids; else empty
};

// Whether a plugin's function changes mutable tensors. The caller must state it correctly (otherwise InvalidArgument).
// Calls that change tensors are numbered, so that a call runs once even if its message arrives repeatedly.
enum class TensorEffect { kNone, kChanges };

// Thread-safe. Arguments are untrusted (they come from RPCs): ids out of range, unknown names and excessive requests
// return InvalidArgument (OutOfRange in ToGlobalIds), NotFound or ResourceExhausted, and never cause undefined
// behavior. Each call completes exactly once through `done`. Memory that a span or sink refers to must outlive the
// completion; other arguments that are passed by reference are copied if they are needed after the call returns.
class PartitionAccess {
 public:
  virtual ~PartitionAccess() = default;
  virtual PartitionId partition() const = 0;
  // Returns whether the partition is in this process, so that calls need no messages. Callers then need not remove
  // repeated rows from a request: this would cost more than reading a row twice.
  virtual bool is_in_process() const { return false; }

  // Draws the in-edges of one hop.
  virtual void SampleInEdges(PartitionHopQuery query, Deadline deadline, Done<PartitionHopSample> done) = 0;
  // Gathers rows of an immutable column, or original ids (kOriginalIdColumn), into `sink`.
  virtual void GatherRows(NodeTypeId type, const std::string& column, std::span<const LocalNodeId> nodes, RowSink sink,
                          Deadline deadline, DoneStatus done) = 0;
  // Returns the seeds of a step that this partition owns, with their positions in the global batch.
  virtual void SeedsOfStep(const SeedQuery& query, Deadline deadline, Done<PartitionSeeds> done) = 0;
  // Returns the global ids (U32 or U64) of original ids. Each partition stores the global ids of one range of original
  // ids (its directory slice, docs/partition-format.md); OutOfRange names an id outside of this range.
  virtual void ToGlobalIds(NodeTypeId type, std::span<const OriginalNodeId> nodes, Deadline deadline,
                           Done<Tensor> done) = 0;
  // Returns U32 [nodes]: the number of in-edges of `type` of each node.
  virtual void InDegrees(EdgeTypeId type, std::span<const LocalNodeId> nodes, Deadline deadline, Done<Tensor> done) = 0;
  // Returns the endpoints of owned edges: I64 [2, edges], global ids, sources first.
  virtual void FindEdges(EdgeTypeId type, std::span<const GlobalEdgeId> edges, Deadline deadline,
                         Done<Tensor> done) = 0;
  // Returns rows of an immutable column of owned edges: [edges, row shape...]. NotFound names the existing columns.
  virtual void GatherEdgeRows(EdgeTypeId type, const std::string& column, std::span<const GlobalEdgeId> edges,
                              Deadline deadline, Done<Tensor> done) = 0;
  // Calls `function` ("plugin/function") of the server's plugins with `request`, U8 [n], and returns its response, U8
  // [k] (docs/server-plugins.md). Unimplemented if there is no such function; a partition without a server has none.
  virtual void CallFunction(const std::string& function, const Tensor& request, TensorEffect effect, Deadline deadline,
                            Done<Tensor> done) {
    (void)request, (void)effect, (void)deadline;
    done(Unimplemented("no function '" + function + "': plugins run in graph servers, and this process reads the " +
                       "partition by itself"));
  }

  // Returns the partition's part of mutable tensors; valid as long as this object.
  virtual PartitionTensors& tensors() = 0;
  // Returns the partition's learnable rows; valid as long as this object.
  virtual PartitionEmbeddings& embeddings() = 0;
};

}  // namespace espalier::sampler
