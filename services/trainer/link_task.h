// What link prediction puts in the place of labels and their loss.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "services/trainer/evaluation/evaluation.h"
#include "services/trainer/model/link_scorer.h"
#include "services/trainer/ops/losses.h"
#include "services/trainer/training_loop.h"

namespace espalier::trainer {

inline bool PredictsLinks(const job::Training& training) {
  return training.task.type == job::TaskType::kLinkPrediction;
}

// Training edges of the task's split, of all its edge types.
Result<uint64_t> CountTrainingEdges(const job::Training& training, const GraphAccess& graph);

// The scorer of embeddings of this width, with a relation for each edge type. InvalidArgument where the width, a file's
// or a module's, is not for it, or a file's outputs are no embeddings of the document's hiddenSize.
Result<std::shared_ptr<LinkScorer>> MakeScorer(const job::Training& training, const graph::GraphSchema& schema,
                                               int64_t width);

// The edge type of each row of `scorer.relation`, by its canonical name; none for Dot, which has no relations.
Result<std::vector<std::string>> ListScorerRelations(const job::Training& training, const graph::GraphSchema& schema);

// Whether a trainer's share of a step's negatives may have embeddings of this width: InvalidArgument names
// spec.training.task.negatives.count.
Status CheckNegatives(const job::Training& training, int64_t width, uint32_t num_trainers);

// What a step minimises. `scorer` is the model's; null for tasks on nodes, which `kind` is the loss of.
BatchLoss LossOfBatches(const job::Training& training, LossKind kind, std::shared_ptr<const LinkScorer> scorer);

// How the document wants links measured; chunk size and timeouts are the caller's.
Result<LinkMeasure> MakeLinkMeasure(const job::Training& training, const graph::GraphSchema& schema,
                                    std::shared_ptr<const LinkScorer> scorer);

}  // namespace espalier::trainer
