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
#include "services/sampler/batches/mini_batch.h"
#include "services/trainer/model/graph_degrees.h"

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
  // i64 [rows read] by NodeTypeId: original ids of the layer's input rows, those of its output rows first. Needed when
  // training.
  const std::vector<torch::Tensor>* original_ids = nullptr;
  // Of the layer's rows, for models that need them (Model::needs_degrees).
  const GraphDegrees* degrees = nullptr;
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
  // Layers must be given the nodes' degrees in the whole graph.
  virtual bool needs_degrees() const { return false; }
  // Rows read -> rows written. Layer 0 reads the raw features; the last layer writes logits (no activation).
  // Hidden layers apply normalisation, activation and dropout to what they write.
  virtual TypedRows Layer(int layer, const sampler::BatchLayer& edges, const TypedRows& inputs,
                          const LayerRun& run) = 0;
};

struct ModuleFile;  // module_file.h

struct ModelOptions {
  job::Model model;
  int num_layers = 2;
  graph::GraphSchema schema;
  std::vector<int64_t> input_widths;  // by NodeTypeId; 0: the type has no features
  int64_t num_outputs = 0;            // classes, or regression targets
  // Relations each layer samples, ascending EdgeTypeId; the blocks of a BatchLayer come in this order.
  std::vector<std::vector<EdgeTypeId>> relations;  // by layer
  NodeTypeId seed_type;
  // All types whose outputs are wanted, ascending: of edges between nodes of several types; empty: seed_type alone.
  std::vector<NodeTypeId> seed_types = {};
  uint64_t seed = 0;
  std::shared_ptr<const ModuleFile> module;  // of ModelType::kTorchScript, whose outputs num_outputs need not say
  bool trains = true;                        // false: the model is only applied
  // ModelType::kEmbedding, by NodeTypeId: the type's inputs are learnable rows alone. Empty: no type's.
  std::vector<bool> rows_are_embeddings = {};
};

// ModelOptions::seed_types, or seed_type.
std::vector<NodeTypeId> ListSeedTypes(const ModelOptions& options);

// A model of ours, or the user's. InvalidArgument where the options do not fit together, or where the user's module is
// not what script_model.h asks for.
Result<std::shared_ptr<Model>> MakeModel(const ModelOptions& options);

}  // namespace espalier::trainer
