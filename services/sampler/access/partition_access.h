// The interface of the owner of one partition, in local ids. `shard::GraphShard` implements it in this process (in a
// graph server, or in a client that mapped the same files), `client::RemotePartition` calls a server over gRPC, and
// PartitionedGraph combines the responses of all partitions.
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

// Whether a plugin's function changes mutable tensors. The caller states it, and the server refuses a mismatch
// (InvalidArgument). A call that changes tensors has a number, by which it runs once even if its message arrives
// repeatedly.
enum class TensorEffect { kNone, kChanges };

// Thread-safe. Arguments are untrusted (they come from RPCs): ids out of range, unknown names and excessive requests
// return InvalidArgument, NotFound or ResourceExhausted, and never cause undefined behavior. Each call completes
// exactly once through `done`.
class PartitionAccess {
 public:
  virtual ~PartitionAccess() = default;
  virtual PartitionId partition() const = 0;
  // Returns whether the partition is in this process, so that calls need no messages. Reading a repeated row twice then
  // costs less than finding the repetition.
  virtual bool is_in_process() const { return false; }

  // Draws the in-edges of one hop.
  virtual void SampleInEdges(PartitionHopQuery query, Deadline deadline, Done<PartitionHopSample> done) = 0;
  // Gathers rows of an immutable column into `sink`. `nodes` outlives the completion.
  virtual void GatherRows(NodeTypeId type, const std::string& column, std::span<const LocalNodeId> nodes, RowSink sink,
                          Deadline deadline, DoneStatus done) = 0;
  // Returns the own seeds of a step, at their positions of the global batch.
  virtual void SeedsOfStep(const SeedQuery& query, Deadline deadline, Done<PartitionSeeds> done) = 0;
  // Returns the global ids (U32 or U64) of original ids in this partition's directory slice.
  virtual void ToGlobalIds(NodeTypeId type, std::span<const OriginalNodeId> nodes, Deadline deadline,
                           Done<Tensor> done) = 0;
  // Returns U32 [nodes]: in-degrees under one edge type.
  virtual void InDegrees(EdgeTypeId type, std::span<const LocalNodeId> nodes, Deadline deadline, Done<Tensor> done) = 0;
  // Returns the endpoints of owned edges: I64 [2, edges], global ids, sources first.
  virtual void FindEdges(EdgeTypeId type, std::span<const GlobalEdgeId> edges, Deadline deadline,
                         Done<Tensor> done) = 0;
  // Returns rows of an immutable column of owned edges: [edges, row shape...]. NotFound names the existing columns.
  virtual void GatherEdgeRows(EdgeTypeId type, const std::string& column, std::span<const GlobalEdgeId> edges,
                              Deadline deadline, Done<Tensor> done) = 0;
  // Calls `function` ("plugin/function") of the server's plugins with `request`, U8 [n], and returns its response, U8
  // [k] (docs/server-plugins.md). Unimplemented if there is no such function, as is always the case without a server.
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
