// The source of a trainer's mini-batches: threads in its own process (LocalMiniBatchSource) or sampler processes
// (client/remote/remote_mini_batch_source.h). Both return the same batches.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/sampler/batches/mini_batch.h"
#include "services/sampler/seeds/edge_exclusions.h"
#include "services/sampler/seeds/negatives.h"

namespace espalier::sampler {

// Node classification and regression: the seeds are nodes of EpochPlan::seed_type.
struct NodePlan {};

// Link prediction: the seeds are edges of a split of these edge types.
struct LinkPlan {
  std::vector<LinkType> types;
  NegativeSpec negatives;
  bool exclude_batch = true;  // false: the step's edges and their reverse edges are drawn like any other
  // Only with one edge type: the columns returned as LinkSeeds::rows. Each column takes a separate request for the
  // trainer's share, except the first column if there is one trainer.
  std::vector<std::string> edge_columns = {};
  bool want_pair_ids = false;  // return LinkSeeds::edge_ids (SeedQuery::want_edge_ids); only with one edge type
  // If each rank has its own edges and plan: the rank to which the edges of this plan belong, so that ranks draw
  // different negatives at the same positions. If all ranks share the edges: rank 0.
  Rank owner = Rank(0);

  // Returns the edge types, as a SeedQuery lists them.
  std::vector<EdgeTypeId> edge_types() const {
    std::vector<EdgeTypeId> result;
    for (const LinkType& type : types) result.push_back(type.edge_type);
    return result;
  }
};

// Edge classification and regression: the seeds are edges of a split of one edge type.
struct EdgePlan {
  EdgeTypeId edge_type;
  std::string label;  // edge column
  // Excluded from sampling: with exclude_batch, the step's edges of all trainers; with exclude_reverse, also the edges
  // (v, u) of type exclude_reverse for each edge (u, v) of the step.
  bool exclude_batch = false;
  std::optional<EdgeTypeId> exclude_reverse = {};  // only with exclude_batch
};

// What a run trains on. Together with the graph, the SamplingSpec, the epoch and the step it determines a mini-batch.
struct EpochPlan {
  NodeTypeId seed_type;  // for edges, the destination type of the first edge type
  std::string split;
  uint64_t batch_size = 0;  // global; counts edges if the seeds are edges
  bool shuffle = true;
  uint32_t num_trainers = 1;
  Rank rank;
  std::variant<NodePlan, LinkPlan, EdgePlan> seeds = {};
  graph::SplitPartName part = graph::SplitPartName::kTrain;
  // Steps per epoch, at most 2^32 - 1. Absent: until the seeds are used up. If there are too few seeds for this number,
  // the last batches are empty (with sampler processes, Next returns an error); seeds left over are in no batch.
  std::optional<uint64_t> num_steps = {};

  // These return null for seeds of another kind.
  const LinkPlan* links() const { return std::get_if<LinkPlan>(&seeds); }
  LinkPlan* links() { return std::get_if<LinkPlan>(&seeds); }
  const EdgePlan* edges() const { return std::get_if<EdgePlan>(&seeds); }
  EdgePlan* edges() { return std::get_if<EdgePlan>(&seeds); }
};

// One consumer at a time.
class MiniBatchSource {
 public:
  virtual ~MiniBatchSource() = default;
  // Starts an epoch at a step; batches from there on may be prepared in advance.
  virtual Status StartEpoch(uint32_t epoch, uint32_t first_step) = 0;
  // Returns the next step's mini-batch, in step order; OutOfRange after the epoch's last step. Every rank sees the same
  // number of steps; a share may be empty.
  virtual Result<MiniBatch> Next(Deadline deadline) = 0;
  // Cancels the epoch; may be called while another thread is in Next. Until StartEpoch, Next returns Cancelled instead
  // of waiting.
  virtual void Cancel() = 0;
};

}  // namespace espalier::sampler
