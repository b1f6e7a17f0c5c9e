#include "services/trainer/ops/activation.h"

#include <cmath>

#include "services/base/check.h"
#include "services/kernels/dropout_half_words.h"
#include "services/kernels/row_ranges.h"

namespace espalier::trainer {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// One row: x = passes * scale * (x + bias), passes = (x + bias > 0 and kept), as bytes too for the way back. What is no
// number passes, as it does torch's ReLU: a zero in its place would hide it from the loss and from every metric.
// (Written with integers instead of conditions: in this form the compiler vectorises it.)
void ActivateRow(float* __restrict x, const float* __restrict bias, const uint16_t* __restrict half_words,
                 int32_t threshold, float scale, uint8_t* __restrict passes, int64_t width) {
  for (int64_t j = 0; j < width; ++j) {
    const float value = (x[j] + bias[j]) * scale;
    const int32_t is_on = (value > 0.0f ? 1 : 0) | (std::isnan(value) ? 1 : 0);
    const int32_t pass = is_on & (int32_t{half_words[j]} >= threshold ? 1 : 0);
    x[j] = pass != 0 ? value : 0.0f;
    passes[j] = static_cast<uint8_t>(pass);
  }
}

// The range of each row of a chunk: chunks may straddle node types.
const DropoutRange* RangeOf(const DropoutPlan& dropout, int64_t row) {
  for (const DropoutRange& range : dropout.ranges) {
    if (row < range.end) return &range;
  }
  return nullptr;
}

void ActivateRows(const DropoutPlan& dropout, int64_t begin, int64_t end, int64_t width, const float* bias, float* x,
                  uint8_t* passes) {
  const int32_t threshold = kernels::DropThreshold(dropout.probability);
  const float scale = kernels::KeptScale(dropout.probability);
  std::vector<uint16_t> half_words(static_cast<size_t>(
      (width + kernels::kDropoutColumnsAtOnce) / kernels::kDropoutColumnsAtOnce * kernels::kDropoutColumnsAtOnce));
  for (int64_t i = begin; i < end; ++i) {
    if (threshold > 0) {
      const DropoutRange* range = RangeOf(dropout, i);
      ESPALIER_CHECK(range != nullptr && i >= range->begin) << "no dropout range for row " << i;
      const int64_t original_id = range->original_ids.data_ptr<int64_t>()[i - range->begin];
      kernels::DropoutHalfWords(range->key, static_cast<uint64_t>(original_id), width, half_words.data());
    }
    ActivateRow(x + i * width, bias, half_words.data(), threshold, scale, passes + i * width, width);
  }
}

// gradient of x = passes * scale * gradient; its column sums, by chunk, are the gradient of the bias.
void ActivationGradient(const torch::Tensor& gradient, const torch::Tensor& passes, float scale, torch::Tensor& of_x,
                        torch::Tensor* chunk_sums) {
  const int64_t width = gradient.size(1);
  const auto* from = gradient.data_ptr<float>();
  const auto* pass = passes.data_ptr<uint8_t>();
  auto* to = of_x.data_ptr<float>();
  auto* sums = chunk_sums == nullptr ? nullptr : chunk_sums->data_ptr<float>();
  kernels::ForRowChunks(gradient.size(0), [&](int64_t chunk, int64_t begin, int64_t end) {
    std::vector<float> column_sums(static_cast<size_t>(width), 0.0f);
    for (int64_t i = begin; i < end; ++i) {
      const float* __restrict g = from + i * width;
      const uint8_t* __restrict p = pass + i * width;
      float* __restrict out = to + i * width;
      float* __restrict sum = column_sums.data();
      for (int64_t j = 0; j < width; ++j) {
        const float value = g[j] * (scale * static_cast<float>(p[j]));
        out[j] = value;
        sum[j] += value;
      }
    }
    if (sums != nullptr) std::copy(column_sums.begin(), column_sums.end(), sums + chunk * width);
  });
}

// 0, or the inverse of the chance to stay, for every element.
torch::Tensor DropFactors(const DropoutPlan& dropout, int64_t num_rows, int64_t width) {
  const int32_t threshold = kernels::DropThreshold(dropout.probability);
  const float scale = kernels::KeptScale(dropout.probability);
  torch::Tensor factors = torch::empty({num_rows, width}, torch::kFloat32);
  auto* out = factors.data_ptr<float>();
  kernels::ForRowChunks(num_rows, [&](int64_t, int64_t begin, int64_t end) {
    std::vector<uint16_t> half_words(static_cast<size_t>(
        (width + kernels::kDropoutColumnsAtOnce) / kernels::kDropoutColumnsAtOnce * kernels::kDropoutColumnsAtOnce));
    for (int64_t i = begin; i < end; ++i) {
      const DropoutRange* range = RangeOf(dropout, i);
      ESPALIER_CHECK(range != nullptr && i >= range->begin) << "no dropout range for row " << i;
      const int64_t original_id = range->original_ids.data_ptr<int64_t>()[i - range->begin];
      kernels::DropoutHalfWords(range->key, static_cast<uint64_t>(original_id), width, half_words.data());
      float* __restrict row = out + i * width;
      for (int64_t j = 0; j < width; ++j)
        row[j] = int32_t{half_words[static_cast<size_t>(j)]} >= threshold ? scale : 0.0f;
    }
  });
  return factors;
}

torch::Tensor SumOfChunks(const torch::Tensor& chunk_sums) {
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
    kernels::ForRowChunks(x.size(0), [&](int64_t, int64_t begin, int64_t end) {
      ActivateRows(dropout, begin, end, width, added.data_ptr<float>(), x.data_ptr<float>(),
                   passes.data_ptr<uint8_t>());
    });
    context->mark_dirty({x});
    context->save_for_backward({passes});
    context->saved_data["scale"] = static_cast<double>(kernels::KeptScale(dropout.probability));
    context->saved_data["bias"] = has_bias;
    return x;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const torch::Tensor passes = context->get_saved_variables()[0];
    const auto scale = static_cast<float>(context->saved_data["scale"].toDouble());
    const torch::Tensor gradient = gradients[0].contiguous();
    torch::Tensor of_x = torch::empty(gradient.sizes(), gradient.options());
    if (!context->saved_data["bias"].toBool()) {
      ActivationGradient(gradient, passes, scale, of_x, nullptr);
      return {of_x, torch::Tensor(), torch::Tensor()};
    }
    torch::Tensor chunk_sums =
        torch::empty({kernels::NumChunks(gradient.size(0)), gradient.size(1)}, gradient.options());
    ActivationGradient(gradient, passes, scale, of_x, &chunk_sums);
    return {of_x, SumOfChunks(chunk_sums), torch::Tensor()};
  }
};

}  // namespace

torch::Tensor BiasReluDropout(const torch::Tensor& x, const torch::Tensor& bias, const DropoutPlan& dropout) {
  ESPALIER_CHECK(x.dim() == 2 && x.is_contiguous() && x.scalar_type() == torch::kFloat32);
  ESPALIER_CHECK(dropout.probability >= 0 && dropout.probability < 1) << "dropout must be below 1";
  // Autograd functions take no undefined tensors: no bias is an empty one.
  return Activation::apply(x, bias.defined() ? bias : torch::empty({0}), dropout);
}

torch::Tensor DropElements(const torch::Tensor& x, const DropoutPlan& dropout) {
  ESPALIER_CHECK(x.dim() == 2 && x.scalar_type() == torch::kFloat32);
  ESPALIER_CHECK(dropout.probability >= 0 && dropout.probability < 1) << "dropout must be below 1";
  if (kernels::DropThreshold(dropout.probability) == 0) return x;
  return x * DropFactors(dropout, x.size(0), x.size(1));
}

}  // namespace espalier::trainer
