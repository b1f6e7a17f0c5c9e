// A model as a stack of layers over blocks. Training on sampled mini-batches and layer-wise full-graph inference run
// the same code: both call Model::Layer.
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

// Rows by NodeTypeId: f32 [N_type, F]; the tensor may be undefined if a type has no rows.
using TypedRows = std::vector<torch::Tensor>;

// The context in which a layer runs. Dropout masks are keyed by original ids, so that a node's mask does not depend on
// the trainer that computes the node or on its row in the mini-batch.
struct LayerRun {
  bool training = false;
  uint64_t seed = 0;
  uint32_t epoch = 0;
  uint32_t step = 0;
  // i64 [rows read] by NodeTypeId: original ids of the layer's input rows, those of its output rows first. Required if
  // the layer applies dropout.
  const std::vector<torch::Tensor>* original_ids = nullptr;
  // The degrees of the layer's nodes; required if Model::needs_degrees().
  const GraphDegrees* degrees = nullptr;
  // For synchronized batch normalization and the buffers of script models; null: this is the only rank. Errors are
  // thrown as CollectiveError.
  collective::Collective* collective = nullptr;
  Deadline deadline = Deadline::After(std::chrono::seconds(660));  // of the collective operations
};

// Returns the rows on a device. Tensors that are already there are not copied.
TypedRows ToDevice(TypedRows rows, torch::Device device);

// Thread-compatible. Built-in models initialize parameters on the CPU with Philox (RandomPurpose::kInitialization),
// keyed by the seed and the parameter's name, never with torch's generator. Initial values therefore do not depend on
// the device.
class Model : public torch::nn::Module {
 public:
  // `precision` applies to the matrix products of layers.
  explicit Model(job::Precision precision) : precision_(precision) {}

  // Moves all parameters and buffers, including those of submodules, to a device. Layers then read and write rows
  // there.
  void MoveTo(torch::Device device);
  torch::Device device() const { return device_; }

  virtual int num_layers() const = 0;
  // Returns the width of the rows that layer `layer` writes.
  virtual int64_t OutputWidth(int layer) const = 0;
  // Returns whether layers need the nodes' degrees in the whole graph (LayerRun::degrees).
  virtual bool needs_degrees() const { return false; }
  // Runs layer `layer`: returns the rows that it writes; `inputs` are the rows that it reads. Layer 0 reads features
  // and learnable rows; the last layer writes the model's outputs (no activation). Hidden layers of built-in models
  // apply normalization, activation and dropout to their outputs. Rows and run.original_ids must be on device(). Rows
  // are f32 for any precision.
  TypedRows Layer(int layer, const sampler::BatchLayer& edges, const TypedRows& inputs, const LayerRun& run);

 private:
  // Implements Layer, which calls it within an AutocastScope of the model's precision.
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
  std::vector<int64_t> input_widths;  // by NodeTypeId; 0: the type has neither features nor learnable rows
  int64_t num_outputs = 0;            // of the last layer: classes, regression targets, or the width of embeddings
  // The relations that each layer samples, in ascending order; the blocks of a BatchLayer have this order.
  std::vector<std::vector<EdgeTypeId>> relations;  // by layer
  NodeTypeId seed_type;
  // All node types whose outputs are needed, ascending: several if seed edges have endpoints of different types. Empty:
  // only seed_type.
  std::vector<NodeTypeId> seed_types = {};
  uint64_t seed = 0;
  std::shared_ptr<const ModuleFile> module;  // for ModelType::kTorchScript, which ignores num_outputs
  bool trains = true;                        // false: the model is only applied
  job::Precision precision = job::Precision::kF32;
  // For ModelType::kEmbedding, by NodeTypeId: whether learnable rows are the type's only inputs. Empty: false for every
  // type.
  std::vector<bool> rows_are_embeddings = {};
};

// Returns ModelOptions::seed_types, or {seed_type} if it is empty.
std::vector<NodeTypeId> ListSeedTypes(const ModelOptions& options);

// Creates a built-in model, or the model of a user's module. InvalidArgument: the options are inconsistent, or the
// module does not have the interface of script_model.h.
Result<std::shared_ptr<Model>> MakeModel(const ModelOptions& options);

}  // namespace espalier::trainer
