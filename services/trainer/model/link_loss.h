// The loss of link prediction as this trainer's share of the loss of the global batch: the sum over its own pairs,
// divided by a count over all trainers. The gradients of all trainers then add up to the gradient of one trainer with
// the whole batch.
#pragma once

#include <torch/torch.h>

#include "services/sampler/batches/mini_batch.h"
#include "services/trainer/model/link_scorer.h"

namespace espalier::trainer {

// Returns an f32 scalar, the sum of a term over all pairs, divided by a count:
//   kBinaryCrossEntropy  -(log sigmoid(s+) + sum over negatives w log sigmoid(-s-)); global_num_pairs * (1 + K)
//   kCrossEntropy        -log(exp(s+) / (exp(s+) + sum over negatives w exp(s-))); global_num_pairs
// where s+ and s- are the scores of a pair and of its negatives, w is LinkSeeds::negative_weights and K is
// LinkSeeds::negatives_per_pair. Zero, with a gradient of zeros, for an empty share. embeddings: f32 [seeds, D], row i
// is that of seed i.
torch::Tensor LinkLoss(job::LinkLoss kind, const LinkScorer& scorer, const torch::Tensor& embeddings,
                       const sampler::LinkSeeds& links, int64_t global_num_pairs);

}  // namespace espalier::trainer
