// The loss of link prediction as this trainer's share of the global batch's: sums over its own pairs, divided by what
// all trainers have, so that gradients of all trainers add up to those of one.
#pragma once

#include <torch/torch.h>

#include "services/sampler/batches/mini_batch.h"
#include "services/trainer/model/link_scorer.h"

namespace espalier::trainer {

// embeddings: f32 [seeds, D], row i of seed i. f32 scalar:
//   kBinaryCrossEntropy  -(log sigmoid(s+) + sum over negatives w log sigmoid(-s-)), over global_num_pairs * (1 + K)
//   kCrossEntropy        -log(exp(s+) / (exp(s+) + sum over negatives w exp(s-))), over global_num_pairs
// where w is LinkSeeds::negative_weights. Zero, with a gradient of zeros, for an empty share.
torch::Tensor LinkLoss(job::LinkLoss kind, const LinkScorer& scorer, const torch::Tensor& embeddings,
                       const sampler::LinkSeeds& links, int64_t global_num_pairs);

}  // namespace espalier::trainer
