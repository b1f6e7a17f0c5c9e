#include "services/trainer/model/hidden_epilogue.h"

#include "services/base/check.h"
#include "services/base/random_purpose.h"

namespace espalier::trainer {

DropoutPlan MakeDropout(double probability, int layer, const std::vector<NodeTypeId>& types,
                        const std::vector<int64_t>& num_rows, const LayerRun& run) {
  if (!run.training || probability == 0) return {};
  ESPALIER_CHECK(run.original_ids != nullptr) << "dropout needs the rows' original ids";
  DropoutPlan plan{.probability = probability};
  int64_t begin = 0;
  for (size_t k = 0; k < types.size(); ++k) {
    if (num_rows[k] == 0) continue;
    const uint64_t key = RandomKey(run.seed, RandomPurpose::kDropout, run.epoch, run.step, layer, types[k].value);
    const torch::Tensor ids = (*run.original_ids)[types[k].value].contiguous();
    ESPALIER_CHECK(ids.scalar_type() == torch::kInt64 && ids.size(0) >= num_rows[k]) << "too few original ids";
    plan.ranges.push_back({begin, begin + num_rows[k], key, ids});
    begin += num_rows[k];
  }
  return plan;
}

DropoutPlan MakeInputDropout(double probability, NodeTypeId type, int64_t num_rows, const LayerRun& run) {
  if (!run.training || probability == 0 || num_rows == 0) return {};
  ESPALIER_CHECK(run.original_ids != nullptr) << "dropout needs the rows' original ids";
  const torch::Tensor ids = (*run.original_ids)[type.value].contiguous();
  ESPALIER_CHECK(ids.scalar_type() == torch::kInt64 && ids.size(0) >= num_rows) << "too few original ids";
  const uint64_t key = RandomKey(run.seed, RandomPurpose::kInputDropout, run.epoch, run.step, type.value);
  return {.probability = probability, .ranges = {{0, num_rows, key, ids}}};
}

HiddenEpilogueImpl::HiddenEpilogueImpl(job::LayerNormalization normalization, Nonlinearity nonlinearity, int64_t width)
    : nonlinearity_(nonlinearity), bias_(register_parameter("bias", torch::zeros({width}))) {
  switch (normalization) {
    case job::LayerNormalization::kNone: break;
    case job::LayerNormalization::kBatch: batch_norm_ = register_module("batch_norm", BatchNorm(width)); break;
    case job::LayerNormalization::kLayer:
      layer_norm_weight_ = register_parameter("layer_norm_weight", torch::ones({width}));
      layer_norm_bias_ = register_parameter("layer_norm_bias", torch::zeros({width}));
      break;
  }
}

torch::Tensor HiddenEpilogueImpl::Activate(const torch::Tensor& x, const torch::Tensor& bias,
                                           const DropoutPlan& dropout) const {
  switch (nonlinearity_) {
    case Nonlinearity::kRelu: return BiasReluDropout(x, bias, dropout);
    case Nonlinearity::kElu: return DropElements(torch::elu(bias.defined() ? x + bias : x), dropout);
  }
  ESPALIER_CHECK(false) << "unknown nonlinearity";
  return {};
}

torch::Tensor HiddenEpilogueImpl::forward(const torch::Tensor& x, const DropoutPlan& dropout, const LayerRun& run) {
  if (batch_norm_) return Activate(batch_norm_->forward(x + bias_, run), {}, dropout);
  if (layer_norm_weight_.defined()) {
    const torch::Tensor normal =
        torch::layer_norm(x + bias_, {x.size(1)}, layer_norm_weight_, layer_norm_bias_, /*eps=*/1e-5);
    return Activate(normal, {}, dropout);
  }
  return Activate(x, bias_, dropout);
}

}  // namespace espalier::trainer
