// This trainer's share of the loss of link prediction: a sum over the trainer's own pairs, with a divisor proportional
// to the number of pairs of all trainers. The shares of all trainers add up to the loss of the global batch; the same
// holds for their gradients.
#pragma once

#include <torch/torch.h>

#include "services/sampler/batches/mini_batch.h"
#include "services/trainer/model/link_scorer.h"

namespace espalier::trainer {

// Returns an f32 scalar, the sum of a term over the pairs of `links`, divided by a divisor:
//   kind                 term                                                           divisor
//   kBinaryCrossEntropy  -(log sigmoid(s+) + sum over negatives w log sigmoid(-s-))     global_num_pairs * (1 + K)
//   kCrossEntropy        -log(exp(s+) / (exp(s+) + sum over negatives w exp(s-)))       global_num_pairs
// where s+ and s- are the scores of a pair and of its negatives, w is LinkSeeds::negative_weights (0 or 1) and K is
// LinkSeeds::negatives_per_pair. Without pairs, the loss and its gradient are zero. embeddings: f32 [seeds, D]; row i
// belongs to seed i.
torch::Tensor LinkLoss(job::LinkLoss kind, const LinkScorer& scorer, const torch::Tensor& embeddings,
                       const sampler::LinkSeeds& links, int64_t global_num_pairs);

}  // namespace espalier::trainer
