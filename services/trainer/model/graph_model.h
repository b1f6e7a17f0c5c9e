// A stack of layers: an input projection (if there are several node types or no features), then one convolution for
// each layer. An epilogue follows every convolution except the last.
#pragma once

#include <memory>
#include <vector>

#include "services/trainer/model/convolution.h"
#include "services/trainer/model/hidden_epilogue.h"
#include "services/trainer/model/input_projection.h"
#include "services/trainer/model/relation_convolution.h"

namespace espalier::trainer {

class GraphModel final : public Model {
 public:
  // `options` must have passed the checks of MakeModel.
  explicit GraphModel(const ModelOptions& options);

  int num_layers() const override { return options_.num_layers; }
  int64_t OutputWidth(int layer) const override;
  bool needs_degrees() const override { return options_.model.type == job::ModelType::kGcn; }

 private:
  TypedRows ComputeLayer(int layer, const sampler::BatchLayer& edges, const TypedRows& inputs,
                         const LayerRun& run) override;
  int64_t InputWidth(int layer) const;
  WrittenRows ListWrittenRows(int layer, const sampler::BatchLayer& edges) const;
  TypedRows PrepareInputs(int layer, const sampler::BatchLayer& edges, const TypedRows& inputs);
  void ApplyInputDropout(TypedRows* rows, const LayerRun& run) const;
  std::shared_ptr<Convolution> MakeConvolution(int layer) const;
  std::shared_ptr<RelationConvolution> MakeRelationConvolution(int layer, const std::string& name) const;

  const ModelOptions options_;
  // written_[layer][type]: whether some trainer may write rows of the type. Depends only on the job, so that all
  // trainers run the same operations and collectives whatever their mini-batches contain.
  std::vector<std::vector<bool>> written_;
  InputProjection projection_{nullptr};
  std::vector<std::shared_ptr<Convolution>> convolutions_;
  std::vector<HiddenEpilogue> epilogues_;  // of all layers except the last
  torch::Tensor output_bias_;              // f32 [C]
};

}  // namespace espalier::trainer
