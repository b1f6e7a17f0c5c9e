// A mini-batch with everything that a training step reads.
#pragma once

#include <vector>

#include "services/sampler/batches/mini_batch.h"
#include "services/trainer/data/node_data.h"
#include "services/trainer/model/model.h"

namespace espalier::trainer {

struct BatchTensors {
  sampler::MiniBatch batch;
  TypedRows features;                       // by NodeTypeId: f32 [nodes, F]; joined: learnable rows behind them
  TypedRows learnable;                      // by NodeTypeId: leaves f32 [nodes, size]; undefined where there are none
  std::vector<torch::Tensor> original_ids;  // by NodeTypeId: i64 [nodes]
  GraphDegrees degrees;                     // where the model needs them (NodeData::FetchDegrees)
  torch::Tensor labels;                     // of the seeds, as losses.h takes them; undefined for tasks on edges
  double sample_seconds = 0;                // spent waiting for the mini-batch
  double fetch_seconds = 0;                 // spent gathering rows
};

// Gathers each type's rows once: a row is a node (with seed times, a node at a time: one met at two times comes twice).
Result<BatchTensors> FetchBatch(sampler::MiniBatch batch, const NodeData& data, Deadline deadline);

// A share without seeds, with the blocks that `relations` (by layer) say: what a rank without a batch takes part
// in a step with, so that the collective operations of all ranks still match.
BatchTensors EmptyBatch(const std::vector<std::vector<EdgeTypeId>>& relations, const NodeData& data);

}  // namespace espalier::trainer
