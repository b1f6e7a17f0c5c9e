// Where a trainer's mini-batches come from: threads in its own process (LocalMiniBatchSource) or sampler
// processes (client/remote/remote_mini_batch_source.h). Both give the same batches.
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
  // Of one edge type: what comes as LinkSeeds::rows. Each is a question of its own, about the trainer's share.
  std::vector<std::string> edge_columns = {};
  bool want_pair_ids = false;  // of one edge type: LinkSeeds::edge_ids, as SeedQuery::want_edge_ids has them
  // Whose edges these are where each rank has edges, and a plan, of its own: its negatives are others than any other
  // rank's at the same positions. Rank 0's are those of edges that all ranks have together.
  Rank owner = Rank(0);

  // What a SeedQuery wants.
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
  // What no hop draws: with exclude_batch the step's edges of all trainers, and, where there is an exclude_reverse, the
  // edges (v, u) of that type for each (u, v) of the step.
  bool exclude_batch = false;
  std::optional<EdgeTypeId> exclude_reverse = {};  // only with exclude_batch
};

// What a run trains on; fixes every mini-batch together with (epoch, step, rank).
struct EpochPlan {
  NodeTypeId seed_type;  // of edges: what the first of their types leads to
  std::string split;
  uint64_t batch_size = 0;  // global; of edges those
  bool shuffle = true;
  uint32_t num_trainers = 1;
  Rank rank;
  std::variant<NodePlan, LinkPlan, EdgePlan> seeds = {};
  graph::SplitPartName part = graph::SplitPartName::kTrain;
  // Steps of an epoch, at most 2^32 - 1. Absent: until the seeds are used up. More than that: the further batches are
  // empty; fewer: what is left is in no batch.
  std::optional<uint64_t> num_steps = {};

  // Null where the seeds are others.
  const LinkPlan* links() const { return std::get_if<LinkPlan>(&seeds); }
  LinkPlan* links() { return std::get_if<LinkPlan>(&seeds); }
  const EdgePlan* edges() const { return std::get_if<EdgePlan>(&seeds); }
  EdgePlan* edges() { return std::get_if<EdgePlan>(&seeds); }
};

// One consumer at a time.
class MiniBatchSource {
 public:
  virtual ~MiniBatchSource() = default;
  // Begins an epoch at a step: batches from there on may be prepared ahead.
  virtual Status StartEpoch(uint32_t epoch, uint32_t first_step) = 0;
  // The next step's mini-batch, in step order; OutOfRange past the epoch's last step. Every rank sees the same
  // number of steps; a share may be empty.
  virtual Result<MiniBatch> Next(Deadline deadline) = 0;
  // Gives the epoch up, while another thread may be in Next: until StartEpoch it waits no longer, and is Cancelled
  // where it would.
  virtual void Cancel() = 0;
};

}  // namespace espalier::sampler
