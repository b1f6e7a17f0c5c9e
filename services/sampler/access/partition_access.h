// Questions to the owner of one partition, in local ids. `shard::GraphShard` answers them in this process (a
// graph server, or a client that mapped the same files), `client::RemotePartition` asks a server over gRPC, and
// PartitionedGraph puts the answers of all partitions together.
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
  std::vector<int64_t> times = {};        // as RelationQuery's
  std::vector<uint64_t> walks = {};       // likewise
  // Edges that are drawn as if they did not exist (RelationQuery::excluded), ascending by (destination, source).
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
  Tensor counts;    // U32 [destinations]: drawn in-edges of each
  Tensor sources;   // U32 or U64 [drawn]: global ids, concatenated in the order of destinations
  Tensor edge_ids;  // U32 or U64 [drawn]: global edge ids; empty where not wanted
};

struct PartitionHopSample {
  std::vector<PartitionRelationSample> relations;
};

// The part of a step's global batch that this partition owns.
struct PartitionSeeds {
  Tensor positions;      // U32 [k] positions within the step's batch, ascending
  Tensor nodes;          // U32 or U64 [k] global ids; of edges: their destinations
  Tensor sources = {};   // of edges: U32 or U64 [k] global ids; of nodes: empty
  Tensor rows = {};      // [k, row shape...] of SeedQuery::edge_column; without one: empty
  Tensor edge_ids = {};  // U32 or U64 [k] global ids of SeedQuery::want_edge_ids; else empty
};

// Whether a function of a plugin changes mutable tensors. Who calls it says so, and the server refuses what does not
// fit (InvalidArgument): a call that changes them is numbered, and runs once however often its message arrives.
enum class TensorEffect { kNone, kChanges };

// Thread-safe. Untrusted arguments (they come from RPCs): ids out of range, unknown names and over-large requests
// are InvalidArgument, NotFound or ResourceExhausted, never undefined behaviour.
class PartitionAccess {
 public:
  virtual ~PartitionAccess() = default;
  virtual PartitionId partition() const = 0;
  // True where asking costs no message: then looking for repeated rows costs more than answering them twice.
  virtual bool is_in_process() const { return false; }

  virtual void SampleInEdges(PartitionHopQuery query, Deadline deadline, Done<PartitionHopSample> done) = 0;
  // Rows of an immutable column. `nodes` outlives the completion.
  virtual void GatherRows(NodeTypeId type, const std::string& column, std::span<const LocalNodeId> nodes, RowSink sink,
                          Deadline deadline, DoneStatus done) = 0;
  virtual void SeedsOfStep(const SeedQuery& query, Deadline deadline, Done<PartitionSeeds> done) = 0;
  // Global ids (U32 or U64) of original ids that lie in this partition's directory slice.
  virtual void ToGlobalIds(NodeTypeId type, std::span<const OriginalNodeId> nodes, Deadline deadline,
                           Done<Tensor> done) = 0;
  // U32 [nodes]: in-degrees under one edge type.
  virtual void InDegrees(EdgeTypeId type, std::span<const LocalNodeId> nodes, Deadline deadline, Done<Tensor> done) = 0;
  // The ends of owned edges: I64 [2, edges], global ids, sources first.
  virtual void FindEdges(EdgeTypeId type, std::span<const GlobalEdgeId> edges, Deadline deadline,
                         Done<Tensor> done) = 0;
  // Rows of an immutable column of owned edges: [edges, row shape...]. NotFound names the columns that exist.
  virtual void GatherEdgeRows(EdgeTypeId type, const std::string& column, std::span<const GlobalEdgeId> edges,
                              Deadline deadline, Done<Tensor> done) = 0;
  // What `function` ("plugin/function") of the server's plugins answers to `request`, U8 [n]: U8 [k]
  // (docs/server-plugins.md). Unimplemented: there is no such function, as where no server is asked.
  virtual void CallFunction(const std::string& function, const Tensor& request, TensorEffect effect, Deadline deadline,
                            Done<Tensor> done) {
    (void)request, (void)effect, (void)deadline;
    done(Unimplemented("no function '" + function + "': plugins run in graph servers, and this process reads the " +
                       "partition by itself"));
  }

  // The partition's part of mutable tensors. Lives as long as this object.
  virtual PartitionTensors& tensors() = 0;
  // And of learnable rows, likewise.
  virtual PartitionEmbeddings& embeddings() = 0;
};

}  // namespace espalier::sampler
