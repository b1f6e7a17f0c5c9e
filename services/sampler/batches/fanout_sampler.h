// Fan-out neighbour sampling: seeds -> mini-batch, hop by hop. Hop 0 expands the seeds with the last layer's
// fan-outs, each further hop expands every node met so far with the layer before, or those of them that no hop has
// expanded yet (DrawSpec::expand).
#pragma once

#include <span>
#include <vector>

#include "services/sampler/access/neighbor_source.h"
#include "services/sampler/batches/mini_batch.h"
#include "services/sampler/batches/node_numbering.h"
#include "services/sampler/batches/timed_numbering.h"
#include "services/sampler/seeds/edge_exclusions.h"

namespace espalier::sampler {

// Which step's mini-batch, and whose seeds.
struct BatchRequest {
  uint32_t epoch = 0;
  uint32_t step = 0;
  NodeTypeId seed_type;
  std::span<const GlobalNodeId> seeds;  // distinct
  // Seeds of several node types in place of `seeds`: by NodeTypeId, each type's distinct; none of temporal sampling
  // with seed_times.
  std::span<const std::vector<GlobalNodeId>> typed_seeds = {};
  uint32_t global_num_seeds = 0;  // of all trainers
  bool want_edge_ids = false;
  // [seeds] of temporal sampling (else InvalidArgument); empty: read from the spec's column.
  std::span<const int64_t> seed_times = {};
  const EdgeExclusions* excluded = nullptr;  // by edge type; outlives the call; null: none
};

// With a time column a row of the batch is a node at a time, its seed's: a node that two seeds of different times lead
// to stands in MiniBatch::nodes once for each, and is expanded for each.
//
// Keeps its tables from batch to batch. One thread at a time.
class FanoutSampler {
 public:
  // InvalidArgument where the fan-outs do not fit the graph (one entry for each edge type, at least kFullNeighborhood),
  // or where the spec's ways to draw do not go together.
  static Result<FanoutSampler> Make(NeighborSource& source, SamplingSpec spec);

  // A pure function of (graph, spec, request): threads, partitions and calls before do not matter. ResourceExhausted
  // after the hop that brings the batch above spec.max_edges.
  Result<MiniBatch> Sample(const BatchRequest& request, Deadline deadline);

 private:
  FanoutSampler(NeighborSource& source, SamplingSpec spec);
  Status CheckRequest(const BatchRequest& request) const;
  bool is_temporal() const { return !spec_.draw.time_column.empty(); }
  Status CheckSeeds(NodeTypeId type, std::span<const GlobalNodeId> seeds) const;
  Status NumberSeeds(const BatchRequest& request, MiniBatch& batch, Deadline deadline);
  Status NumberSeeds(NodeTypeId type, std::span<const GlobalNodeId> seeds, std::span<const int64_t> seed_times,
                     MiniBatch& batch, Deadline deadline);
  Result<BatchLayer> ExpandHop(const BatchRequest& request, uint32_t hop, MiniBatch& batch, Deadline deadline);
  // The drawn in-edges of rows from first_row on, behind `earlier`, those of the rows below it.
  Result<Block> MakeBlock(const RelationQuery& query, uint32_t first_row, Block earlier, RelationSample sample,
                          MiniBatch& batch);

  NeighborSource* source_;  // outlives this
  SamplingSpec spec_;
  std::vector<NodeNumbering> numbering_;         // by NodeTypeId
  std::vector<TimedNumbering> timed_numbering_;  // likewise, temporal sampling's instead
  uint64_t num_edges_ = 0;                       // of the batch so far
};

// One mini-batch by a sampler of its own.
Result<MiniBatch> SampleMiniBatch(NeighborSource& source, const SamplingSpec& spec, uint32_t epoch, uint32_t step,
                                  NodeTypeId seed_type, std::span<const GlobalNodeId> seeds, uint32_t global_num_seeds,
                                  Deadline deadline);

}  // namespace espalier::sampler
