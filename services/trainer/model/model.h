// A model as a stack of layers over blocks. Sampled mini-batches and layer-wise full-graph inference run the same code:
// both call Layer.
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

// The context in which a layer runs. Everything random is keyed by original ids, so that a node's mask does not depend
// on the trainer or the row that computes it.
struct LayerRun {
  bool training = false;
  uint64_t seed = 0;
  uint32_t epoch = 0;
  uint32_t step = 0;
  // i64 [rows read] by NodeTypeId: original ids of the layer's input rows, those of its output rows first. Required in
  // training.
  const std::vector<torch::Tensor>* original_ids = nullptr;
  // Of the layer's rows; required if Model::needs_degrees().
  const GraphDegrees* degrees = nullptr;
  // For synchronized batch normalization; null: statistics of this batch alone. Errors are thrown as CollectiveError.
  collective::Collective* collective = nullptr;
  Deadline deadline = Deadline::After(std::chrono::seconds(660));
};

// Returns the rows on a device: the same tensors if they are there already.
TypedRows OnDevice(TypedRows rows, torch::Device device);

// Thread-compatible. Parameters are initialized from (seed, parameter name) with Philox
// (RandomPurpose::kInitialization), never with torch's generator, and on the CPU: initial values do not depend on the
// device.
class Model : public torch::nn::Module {
 public:
  // `precision`: of the matrix products of layers.
  explicit Model(job::Precision precision) : precision_(precision) {}

  // Moves all parameters and buffers, those of submodules too, to a device. Layers then read and write rows there.
  void MoveTo(torch::Device device);
  torch::Device device() const { return device_; }

  virtual int num_layers() const = 0;
  // Returns the width of the rows that layer `layer` writes.
  virtual int64_t OutputWidth(int layer) const = 0;
  // Whether layers need the nodes' degrees in the whole graph (LayerRun::degrees).
  virtual bool needs_degrees() const { return false; }
  // Returns the rows that layer `layer` writes; `inputs` are the rows that it reads. Layer 0 reads the raw features;
  // the last layer writes logits (no activation). Hidden layers apply normalization, activation and dropout to their
  // outputs. Rows and run.original_ids are on device(). Rows are f32 for any precision.
  TypedRows Layer(int layer, const sampler::BatchLayer& edges, const TypedRows& inputs, const LayerRun& run);

 private:
  // Computes Layer, within the AutocastScope of the model's precision.
  virtual TypedRows ComputeLayer(int layer, const sampler::BatchLayer& edges, const TypedRows& inputs,
                                 const LayerRun& run) = 0;

  const job::Precision precision_;
  torch::Device device_ = torch::kCPU;
};

struct ModuleFile;  // module_file.h

struct ModelOptions {
  job::Model model;
  int num_layers = 2;
  graph::GraphSchema schema;
  std::vector<int64_t> input_widths;  // by NodeTypeId; 0: the type has no features
  int64_t num_outputs = 0;            // classes, or regression targets
  // The relations that each layer samples, in ascending order; the blocks of a BatchLayer have this order.
  std::vector<std::vector<EdgeTypeId>> relations;  // by layer
  NodeTypeId seed_type;
  // All node types whose outputs are needed, ascending: several for edges between nodes of different types. Empty:
  // seed_type alone.
  std::vector<NodeTypeId> seed_types = {};
  uint64_t seed = 0;
  std::shared_ptr<const ModuleFile> module;  // for ModelType::kTorchScript, which ignores num_outputs
  bool trains = true;                        // false: the model is only applied
  job::Precision precision = job::Precision::kF32;
  // For ModelType::kEmbedding, by NodeTypeId: whether the type's only inputs are learnable rows. Empty: false for all.
  std::vector<bool> rows_are_embeddings = {};
};

// Returns ModelOptions::seed_types, or seed_type if they are empty.
std::vector<NodeTypeId> ListSeedTypes(const ModelOptions& options);

// Creates a built-in model, or the model of a user's module. InvalidArgument: the options are inconsistent, or the
// module does not have the interface of script_model.h.
Result<std::shared_ptr<Model>> MakeModel(const ModelOptions& options);

}  // namespace espalier::trainer
