#include "services/trainer/results/predictions.h"

namespace espalier::trainer {

torch::Tensor ToPredictions(LossKind kind, const torch::Tensor& outputs) {
  switch (kind) {
    case LossKind::kCrossEntropy: return outputs.argmax(1);
    case LossKind::kBinaryCrossEntropy: return outputs.gt(0).to(torch::kUInt8);
    case LossKind::kSquaredError: return outputs;
  }
  return outputs;
}

PredictionShape GetPredictionShape(LossKind kind, int64_t num_outputs) {
  switch (kind) {
    case LossKind::kCrossEntropy: return {DType::kI64, {}};
    case LossKind::kBinaryCrossEntropy: return {DType::kU8, {num_outputs}};
    case LossKind::kSquaredError: break;
  }
  return {DType::kF32, {num_outputs}};
}

}  // namespace espalier::trainer
