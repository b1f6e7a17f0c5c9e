// What edge classification and regression put in the place of nodes' labels and their loss.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "services/trainer/evaluation/edge_evaluation.h"
#include "services/trainer/model/model_file.h"
#include "services/trainer/training_loop.h"

namespace espalier::trainer {

struct EdgeTask {
  EdgeTarget target;
  std::shared_ptr<EdgeHead> head;
  std::vector<std::string> label_warnings;  // MakeEdgeTarget
};

// None for other tasks. The head reads embeddings of `width` numbers, and has as many outputs as the labels need, or as
// the head of the model in `file`. Every rank calls it (MakeEdgeTarget).
Result<std::optional<EdgeTask>> MakeEdgeTask(const job::Training& training, const std::optional<ModelFile>& file,
                                             const GraphAccess& graph, int64_t width,
                                             collective::Collective& collective, const Timeouts& timeouts);

// This trainer's share of a batch's loss, as losses.h has it, over the edges of all trainers; zero, with a gradient of
// zeros, for an empty share. Of batches with `edges` only.
BatchLoss LossOfEdges(const EdgeTask& task);

}  // namespace espalier::trainer
