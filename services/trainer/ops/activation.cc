#include "services/trainer/ops/activation.h"

#include <vector>

#include "services/base/check.h"
#include "services/kernels/activation.h"
#include "services/kernels/dropout_half_words.h"
#include "services/kernels/row_ranges.h"
#include "services/trainer/ops/dropout_masks.h"
#include "services/trainer/ops/op_path.h"

namespace espalier::trainer {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// Returns the plan's ranges for the kernels; valid as long as the plan lives.
std::vector<kernels::MaskRange> ListMaskRanges(const DropoutPlan& dropout) {
  std::vector<kernels::MaskRange> ranges;
  for (const DropoutRange& range : dropout.ranges) {
    ranges.push_back({range.begin, range.end, range.key, range.original_ids.data_ptr<int64_t>()});
  }
  return ranges;
}

torch::Tensor SumChunks(const torch::Tensor& chunk_sums) {
  return chunk_sums.to(torch::kFloat64).sum(0).to(torch::kFloat32);
}

class Activation : public Function<Activation> {
 public:
  static torch::Tensor forward(AutogradContext* context, torch::Tensor x, const torch::Tensor& bias,
                               const DropoutPlan& dropout) {
    const int64_t width = x.size(1);
    const bool has_bias = bias.numel() > 0;
    const torch::Tensor added = has_bias ? bias.contiguous() : torch::zeros({width}, torch::kFloat32);
    const torch::Tensor passes = torch::empty(x.sizes(), torch::kUInt8);
    const std::vector<kernels::MaskRange> ranges = ListMaskRanges(dropout);
    kernels::BiasReluDropoutRows({dropout.probability, ranges}, x.size(0), width, added.data_ptr<float>(),
                                 x.data_ptr<float>(), passes.data_ptr<uint8_t>());
    context->mark_dirty({x});
    context->save_for_backward({passes});
    context->saved_data["scale"] = static_cast<double>(kernels::DropoutScale(dropout.probability));
    context->saved_data["bias"] = has_bias;
    return x;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const torch::Tensor passes = context->get_saved_variables()[0];
    const auto scale = static_cast<float>(context->saved_data["scale"].toDouble());
    const torch::Tensor gradient = gradients[0].contiguous();
    torch::Tensor x_gradient = torch::empty(gradient.sizes(), gradient.options());
    const bool has_bias = context->saved_data["bias"].toBool();
    torch::Tensor chunk_sums;
    if (has_bias) {
      chunk_sums = torch::empty({kernels::NumChunks(gradient.size(0)), gradient.size(1)}, gradient.options());
    }
    kernels::BiasReluDropoutGradient(scale, gradient.size(0), gradient.size(1), gradient.data_ptr<float>(),
                                     passes.data_ptr<uint8_t>(), x_gradient.data_ptr<float>(),
                                     has_bias ? chunk_sums.data_ptr<float>() : nullptr);
    return {x_gradient, has_bias ? SumChunks(chunk_sums) : torch::Tensor(), torch::Tensor()};
  }
};

// Returns whether each element of x is kept: bool [N, F], on the device of x.
torch::Tensor MakeDropoutMask(const torch::Tensor& x, const DropoutPlan& dropout) {
  const int32_t threshold = kernels::DropThreshold(dropout.probability);
  std::vector<torch::Tensor> parts = {torch::empty({0, x.size(1)}, x.options().dtype(torch::kBool))};
  int64_t num_rows = 0;
  for (const DropoutRange& range : dropout.ranges) {
    ESPALIER_CHECK(range.begin == num_rows) << "dropout ranges do not cover row " << num_rows;
    num_rows = range.end;
    const torch::Tensor ids = range.original_ids.narrow(0, 0, range.end - range.begin).to(x.device());
    parts.push_back(MakeKeepMask(range.key, ids, x.size(1), threshold));
  }
  ESPALIER_CHECK(num_rows == x.size(0)) << "dropout ranges cover " << num_rows << " of " << x.size(0) << " rows";
  return torch::cat(parts, 0);
}

torch::Tensor BiasReluDropoutByTorch(const torch::Tensor& x, const torch::Tensor& bias, const DropoutPlan& dropout) {
  const torch::Tensor sum = bias.defined() ? x + bias : x;
  torch::Tensor passes = sum.le(0).logical_not_();  // true for NaN
  const bool drops = kernels::DropThreshold(dropout.probability) > 0;
  if (drops) passes.logical_and_(MakeDropoutMask(x, dropout));
  const torch::Tensor scaled = drops ? sum * kernels::DropoutScale(dropout.probability) : sum;
  return torch::where(passes, scaled, torch::zeros({}, x.options()));
}

}  // namespace

torch::Tensor BiasReluDropout(const torch::Tensor& x, const torch::Tensor& bias, const DropoutPlan& dropout) {
  ESPALIER_CHECK(x.dim() == 2 && x.is_contiguous() && x.scalar_type() == torch::kFloat32);
  ESPALIER_CHECK(dropout.probability >= 0 && dropout.probability < 1) << "dropout must be in [0, 1)";
  if (!UsesCpuKernels(x)) return BiasReluDropoutByTorch(x, bias, dropout);
  // Autograd functions do not accept undefined tensors, so an empty tensor means no bias.
  return Activation::apply(x, bias.defined() ? bias : torch::empty({0}), dropout);
}

torch::Tensor DropElements(const torch::Tensor& x, const DropoutPlan& dropout) {
  ESPALIER_CHECK(x.dim() == 2 && x.scalar_type() == torch::kFloat32);
  ESPALIER_CHECK(dropout.probability >= 0 && dropout.probability < 1) << "dropout must be in [0, 1)";
  if (kernels::DropThreshold(dropout.probability) == 0) return x;
  if (!UsesCpuKernels(x)) {
    return x * (MakeDropoutMask(x, dropout).to(torch::kFloat32) * kernels::DropoutScale(dropout.probability));
  }
  torch::Tensor factors = torch::empty({x.size(0), x.size(1)}, torch::kFloat32);
  const std::vector<kernels::MaskRange> ranges = ListMaskRanges(dropout);
  kernels::DropoutFactors({dropout.probability, ranges}, x.size(0), x.size(1), factors.data_ptr<float>());
  return x * factors;
}

}  // namespace espalier::trainer
