// A model as a stack of layers over blocks. The same code runs a sampled mini-batch and layer-wise full-graph
// inference: both call Layer.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <string>
#include <vector>

#include "services/collective/collective.h"
#include "services/graph/schema.h"
#include "services/job/dist_training.h"
#include "services/sampler/mini_batch.h"

namespace espalier::trainer {

// Rows of every node type by NodeTypeId: f32 [N_type, F]; undefined where a type has no rows.
using TypedRows = std::vector<torch::Tensor>;

// What a layer needs to know besides its inputs. Everything random is keyed by original ids, so that a node's
// mask does not depend on which trainer or position computes it.
struct LayerRun {
  bool training = false;
  uint64_t seed = 0;
  uint32_t epoch = 0;
  uint32_t step = 0;
  // i64 [rows written] by NodeTypeId: original ids of the layer's output rows. Needed when training.
  const std::vector<torch::Tensor>* original_ids = nullptr;
  // For synchronised batch normalisation; null: statistics of this batch alone. Errors surface as CollectiveError.
  collective::Collective* collective = nullptr;
  Deadline deadline = Deadline::After(std::chrono::seconds(660));
};

// Thread-compatible. Parameters are initialised from (seed, parameter name) by our own Philox
// (RandomPurpose::kInitialization), never by torch's generator.
class Model : public torch::nn::Module {
 public:
  virtual int num_layers() const = 0;
  // Width of what layer `layer` writes.
  virtual int64_t OutputWidth(int layer) const = 0;
  // Rows read -> rows written. Layer 0 reads the raw features; the last layer writes logits (no activation).
  // Hidden layers apply normalisation, activation and dropout to what they write.
  virtual TypedRows Layer(int layer, const sampler::BatchLayer& edges, const TypedRows& inputs,
                          const LayerRun& run) = 0;
};

struct ModelOptions {
  job::Model model;
  int num_layers = 2;
  graph::GraphSchema schema;
  std::vector<int64_t> input_widths;  // by NodeTypeId; 0: the type has no features
  int64_t num_outputs = 0;            // classes, or regression targets
  // Relations each layer samples, ascending EdgeTypeId; the blocks of a BatchLayer come in this order.
  std::vector<std::vector<EdgeTypeId>> relations;  // by layer
  NodeTypeId seed_type;
  uint64_t seed = 0;
};

// GraphSAGE or R-GCN. InvalidArgument where the options do not fit together.
Result<std::shared_ptr<Model>> MakeModel(const ModelOptions& options);

}  // namespace espalier::trainer
