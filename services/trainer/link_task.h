// The scorer, loss and evaluation of link prediction.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "services/trainer/evaluation/link_evaluation.h"
#include "services/trainer/model/link_scorer.h"
#include "services/trainer/ops/losses.h"
#include "services/trainer/training_loop.h"

namespace espalier::trainer {

inline bool PredictsLinks(const job::Training& training) {
  return training.task.type == job::TaskType::kLinkPrediction;
}

// Returns the number of training edges of the task's split, over all its edge types.
Result<uint64_t> CountTrainingEdges(const job::Training& training, const GraphAccess& graph);

// Returns a scorer of embeddings [n, width] with one relation per edge type of the task. InvalidArgument if `width`
// differs from the document's hiddenSize (unless the model is a TorchScript module), or if it is odd and the scorer
// needs complex numbers.
Result<std::shared_ptr<LinkScorer>> MakeScorer(const job::Training& training, const graph::GraphSchema& schema,
                                               int64_t width);

// Returns the canonical name of the edge type of each row of the parameter `scorer.relation`; empty for the Dot scorer,
// which has no relations.
Result<std::vector<std::string>> ListScorerRelations(const job::Training& training, const graph::GraphSchema& schema);

// Returns OK if a trainer can hold its share of a step's negatives with embeddings of this width. Otherwise
// InvalidArgument names spec.training.task.negatives.count.
Status CheckNegatives(const job::Training& training, int64_t width, uint32_t num_trainers);

// Returns the loss function of a step. Link prediction uses `scorer`, which belongs to the model; tasks on nodes use
// `kind` and need no scorer (null).
BatchLoss LossOfBatches(const job::Training& training, LossKind kind, std::shared_ptr<const LinkScorer> scorer);

// Returns the document's options for measuring link prediction. The caller sets the chunk size, the timeouts and what
// runs between chunks.
Result<LinkEvaluationOptions> MakeLinkEvaluationOptions(const job::Training& training,
                                                        const graph::GraphSchema& schema);

}  // namespace espalier::trainer
