// A mini-batch with all tensors that a training step reads.
#pragma once

#include <optional>
#include <vector>

#include "services/sampler/batches/mini_batch.h"
#include "services/sampler/row_cache/scheduled_slots.h"
#include "services/trainer/data/node_data.h"
#include "services/trainer/model/model.h"

namespace espalier::trainer {

struct BatchTensors {
  sampler::MiniBatch batch;
  // By NodeTypeId: f32 [nodes, number of features]. LearnableRows::Join appends the values of each node's learnable row
  // to the node's features.
  TypedRows features;
  // By NodeTypeId, set by LearnableRows::Join: autograd leaves, f32 [nodes, values per row]; undefined if the type has
  // no learnable rows.
  TypedRows learnable;
  std::vector<torch::Tensor> original_ids;  // by NodeTypeId: i64 [nodes]
  GraphDegrees degrees;                     // empty unless the model needs degrees (NodeData::SetDegreeSource)
  torch::Tensor labels;                     // of the seed nodes (losses.h); undefined if !NodeData::has_labels()
  // If set, `features` and `original_ids` have rows of plan->missing_nodes only, until DeviceRows completes them.
  std::optional<sampler::StepPlan> plan;
  double sample_seconds = 0;  // time that the prefetcher waited for the source of mini-batches
  double fetch_seconds = 0;   // time for gathering rows
};

// Gathers the features, original ids, degrees and labels of a mini-batch. Row i of a type's features and original ids
// belongs to node i of batch.nodes of this type. With temporal sampling, a node that occurs at two times has two rows.
// With a plan, gathers features and original ids of plan->missing_nodes only, and stores the plan in the result.
// Returns Internal if the mini-batch does not fit the node types of the graph.
Result<BatchTensors> FetchBatch(sampler::MiniBatch batch, const NodeData& data, Deadline deadline,
                                std::optional<sampler::StepPlan> plan = std::nullopt);

// Returns a mini-batch without seed nodes, with one empty block per edge type of each layer. A rank that has no
// mini-batch uses it to take part in a step, so that the collective operations of all ranks still match.
BatchTensors EmptyBatch(const std::vector<std::vector<EdgeTypeId>>& relations, const NodeData& data);

}  // namespace espalier::trainer
