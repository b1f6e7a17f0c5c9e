// Fan-out neighbor sampling: seeds -> mini-batch, hop by hop. Hop 0 expands the seeds with the last layer's fan-outs;
// each further hop uses the fan-outs of the layer before and expands every node found so far, or only the nodes that no
// hop has expanded yet (DrawSpec::expand).
#pragma once

#include <span>
#include <vector>

#include "services/sampler/access/neighbor_source.h"
#include "services/sampler/batches/mini_batch.h"
#include "services/sampler/batches/node_numbering.h"
#include "services/sampler/batches/timed_numbering.h"
#include "services/sampler/seeds/edge_exclusions.h"

namespace espalier::sampler {

// The step and the seeds of a mini-batch.
struct BatchRequest {
  uint32_t epoch = 0;
  uint32_t step = 0;
  NodeTypeId seed_type;
  std::span<const GlobalNodeId> seeds;  // distinct; with seed_times: distinct pairs of seed and time
  // Replaces `seeds` if the seeds are of several node types: by NodeTypeId, each type's seeds distinct. Cannot be
  // combined with seed_times.
  std::span<const std::vector<GlobalNodeId>> typed_seeds = {};
  uint32_t global_num_seeds = 0;  // see MiniBatch::global_num_seeds
  bool want_edge_ids = false;
  // Time of each seed, [seeds], for temporal sampling only (otherwise InvalidArgument); empty: the times are read from
  // SamplingSpec::seed_time_column.
  std::span<const int64_t> seed_times = {};
  const EdgeExclusions* excluded = nullptr;  // by edge type; outlives the call; null: none
};

// With a time column, each row of the batch is a pair of a node and the time of the seed from which it was reached. A
// node that is reached from seeds of two different times has two rows in MiniBatch::nodes and is expanded twice.
//
// Reuses its tables from batch to batch. One thread at a time.
class FanoutSampler {
 public:
  // Returns InvalidArgument if a layer does not have one fan-out for each edge type, if a fan-out is below -1
  // (kFullNeighborhood), or if the spec's draw options do not fit together. `source` outlives the sampler.
  static Result<FanoutSampler> Make(NeighborSource& source, SamplingSpec spec);

  // Returns a mini-batch, a pure function of (graph, spec, request): threads, partitions and earlier calls have no
  // influence. InvalidArgument: the request does not fit the graph or the spec. ResourceExhausted: the batch exceeds
  // spec.max_edges at some hop.
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
  // Returns a block with the in-edges of `earlier`, whose destinations are the rows below first_row, followed by the
  // drawn in-edges of the rows from first_row on.
  Result<Block> MakeBlock(const RelationQuery& query, uint32_t first_row, Block earlier, RelationSample sample,
                          MiniBatch& batch);

  NeighborSource* source_;  // outlives this
  SamplingSpec spec_;
  std::vector<NodeNumbering> numbering_;         // by NodeTypeId
  std::vector<TimedNumbering> timed_numbering_;  // by NodeTypeId; for temporal sampling, instead of numbering_
  uint64_t num_edges_ = 0;                       // of the batch so far
};

// Returns one mini-batch, drawn with a temporary sampler.
Result<MiniBatch> SampleMiniBatch(NeighborSource& source, const SamplingSpec& spec, uint32_t epoch, uint32_t step,
                                  NodeTypeId seed_type, std::span<const GlobalNodeId> seeds, uint32_t global_num_seeds,
                                  Deadline deadline);

}  // namespace espalier::sampler
