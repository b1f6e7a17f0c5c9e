// The target, prediction head and loss of edge classification and regression.
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
  std::vector<std::string> label_warnings;  // set by MakeEdgeTarget
};

// Returns the edge task of the job, or nullopt if the task does not label edges. The head reads embeddings [n, width].
// It has as many outputs as the head of the model in `file` if there is one, otherwise as many as the labels need.
// Every rank must call it (see MakeEdgeTarget).
Result<std::optional<EdgeTask>> MakeEdgeTask(const job::Training& training, const std::optional<ModelFile>& file,
                                             const GraphAccess& graph, int64_t width,
                                             collective::Collective& collective, const Timeouts& timeouts);

// Returns the loss function of the task: this trainer's share of a mini-batch's loss (losses.h), normalized by the
// number of edges of all trainers. An empty share gives zero with a gradient of zeros. The mini-batch must have
// `edges`.
BatchLoss LossOfEdges(const EdgeTask& task);

}  // namespace espalier::trainer
