// Each kind of operation is one autograd function. The backward pass of a sum over in-edges is the same kernel over the
// transposed block, in which a source adds up the gradients of its destinations: there are no scattered writes, and the
// order is fixed. The forward pass transposes the block only if a gradient will be needed. SegmentMaximum also saves,
// for each element of its result, the edge with the maximum (the winner).
//
// If UsesCpuKernels is false, the operations are composed of those of torch and of edge_tensors.h.
#include "services/trainer/ops/segment_ops.h"

#include "services/base/check.h"
#include "services/kernels/row_ranges.h"
#include "services/trainer/ops/edge_tensors.h"
#include "services/trainer/ops/op_path.h"
#include "services/trainer/ops/word_tensors.h"

namespace espalier::trainer {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

kernels::ConstRows ToConstRows(const torch::Tensor& matrix) { return {matrix.data_ptr<float>(), matrix.size(1)}; }
kernels::Rows ToWritableRows(const torch::Tensor& matrix) { return {matrix.data_ptr<float>(), matrix.size(1)}; }
bool WantsGradient(const torch::Tensor& x) { return torch::GradMode::is_enabled() && x.requires_grad(); }

void CheckBlock(const kernels::Segments& block, const torch::Tensor& x) {
  ESPALIER_CHECK(x.dim() == 2 && x.scalar_type() == torch::kFloat32) << "a block's input must be an f32 matrix";
  ESPALIER_CHECK(!block.indptr.empty() && block.indptr.back() == block.indices.size())
      << "the last element of indptr must be the number of indices";
}

enum class Reduction : int64_t { kSum, kMean, kMeanWithSelf, kSelfAndMean };

// Returns the factor of each destination's sum: 1 / in-degree (0 without in-edges) or 1 / (in-degree + 1); an undefined
// tensor for plain sums.
torch::Tensor ComputeResultScale(const kernels::Segments& block, Reduction reduction) {
  if (reduction == Reduction::kSum) return {};
  torch::Tensor scale = torch::empty({block.num_rows()}, torch::kFloat32);
  auto* values = scale.data_ptr<float>();
  const uint32_t self = reduction == Reduction::kMeanWithSelf ? 1 : 0;
  for (size_t i = 0; i + 1 < block.indptr.size(); ++i) {
    const uint32_t count = block.indptr[i + 1] - block.indptr[i] + self;
    values[i] = count == 0 ? 0.0f : 1.0f / static_cast<float>(count);
  }
  return scale;
}

class SegmentReduce : public Function<SegmentReduce> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& input, const kernels::Segments& block,
                               Reduction reduction, bool wants_gradient) {
    const torch::Tensor x = input.contiguous();
    const int64_t num_rows = block.num_rows(), width = x.size(1);
    const torch::Tensor scale = ComputeResultScale(block, reduction);
    const bool with_self_columns = reduction == Reduction::kSelfAndMean;
    torch::Tensor result =
        torch::empty({num_rows, with_self_columns ? 2 * width : width}, x.options().requires_grad(false));
    kernels::Rows out = ToWritableRows(result);
    if (with_self_columns) {
      CopyRows(x, num_rows, out);
      out.data += width;
    }
    kernels::SumSegments({.segments = block,
                          .width = width,
                          .source = ToConstRows(x),
                          .initial = ToConstRows(x),
                          .num_initial = reduction == Reduction::kMeanWithSelf ? num_rows : 0,
                          .result_scale = scale.defined() ? scale.data_ptr<float>() : nullptr,
                          .out = out});
    if (wants_gradient) {
      kernels::TransposedSegments transposed = kernels::Transpose(block, x.size(0), kernels::EdgePositions::kOmit);
      context->save_for_backward(
          {WordsToTensor(std::move(transposed.indptr)), WordsToTensor(std::move(transposed.destinations)), scale});
      context->saved_data["reduction"] = static_cast<int64_t>(reduction);
      context->saved_data["rows"] = num_rows;
    }
    return result;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const auto reduction = static_cast<Reduction>(context->saved_data["reduction"].toInt());
    const int64_t num_rows = context->saved_data["rows"].toInt();
    const torch::Tensor gradient = gradients[0].contiguous();
    const bool with_self_columns = reduction == Reduction::kSelfAndMean;
    const bool with_self = with_self_columns || reduction == Reduction::kMeanWithSelf;
    const int64_t width = with_self_columns ? gradient.size(1) / 2 : gradient.size(1);
    const float* scale = saved[2].defined() ? saved[2].data_ptr<float>() : nullptr;
    kernels::ConstRows of_neighbors = ToConstRows(gradient);
    if (with_self_columns) of_neighbors.data += width;

    const kernels::Segments by_source{ToWords(saved[0]), ToWords(saved[1])};
    torch::Tensor result = torch::empty({by_source.num_rows(), width}, gradient.options());
    kernels::SumSegments({.segments = by_source,
                          .width = width,
                          .source = of_neighbors,
                          .source_scale = scale,
                          .initial = ToConstRows(gradient),
                          .initial_scale = reduction == Reduction::kMeanWithSelf ? scale : nullptr,
                          .num_initial = with_self ? num_rows : 0,
                          .out = ToWritableRows(result)});
    return {result, torch::Tensor(), torch::Tensor(), torch::Tensor()};
  }

 private:
  static void CopyRows(const torch::Tensor& x, int64_t num_rows, kernels::Rows out) {
    const kernels::ConstRows from = ToConstRows(x);
    const auto row_bytes = static_cast<size_t>(x.size(1)) * sizeof(float);
    kernels::ForRowChunks(num_rows, [&](int64_t, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        std::memcpy(out.data + i * out.stride, from.data + i * from.stride, row_bytes);
    });
  }
};

torch::Tensor FloatsToTensor(std::vector<float> values) { return torch::tensor(values, torch::kFloat32); }

class ScaledSum : public Function<ScaledSum> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& input, const kernels::Segments& block,
                               const SegmentScales& scales, bool wants_gradient) {
    const torch::Tensor x = input.contiguous();
    const int64_t num_rows = block.num_rows(), width = x.size(1);
    const bool with_self = !scales.self.empty();
    torch::Tensor result = torch::empty({num_rows, width}, x.options().requires_grad(false));
    kernels::SumSegments({.segments = block,
                          .width = width,
                          .source = ToConstRows(x),
                          .source_scale = scales.source.data(),
                          .initial = ToConstRows(x),
                          .initial_scale = with_self ? scales.self.data() : nullptr,
                          .num_initial = with_self ? num_rows : 0,
                          .result_scale = scales.result.data(),
                          .out = ToWritableRows(result)});
    if (!wants_gradient) return result;
    kernels::TransposedSegments transposed = kernels::Transpose(block, x.size(0), kernels::EdgePositions::kOmit);
    // The backward pass is the same sum over the transposed block: scales.result multiplies each gradient, and
    // scales.source the whole sum. The sum begins with the row's own gradient. Its total factor must be scales.result *
    // scales.self, so its factor in the sum is that product divided by scales.source.
    std::vector<float> self(with_self ? static_cast<size_t>(num_rows) : 0);
    for (size_t d = 0; d < self.size(); ++d) self[d] = scales.result[d] * scales.self[d] / scales.source[d];
    context->save_for_backward(
        {WordsToTensor(std::move(transposed.indptr)), WordsToTensor(std::move(transposed.destinations)),
         FloatsToTensor({scales.source.begin(), scales.source.begin() + x.size(0)}),
         FloatsToTensor({scales.result.begin(), scales.result.begin() + num_rows}), FloatsToTensor(std::move(self))});
    return result;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const torch::Tensor gradient = gradients[0].contiguous();
    const kernels::Segments by_source{ToWords(saved[0]), ToWords(saved[1])};
    const bool with_self = saved[4].numel() > 0;
    torch::Tensor result = torch::empty({by_source.num_rows(), gradient.size(1)}, gradient.options());
    kernels::SumSegments({.segments = by_source,
                          .width = gradient.size(1),
                          .source = ToConstRows(gradient),
                          .source_scale = saved[3].data_ptr<float>(),
                          .initial = ToConstRows(gradient),
                          .initial_scale = with_self ? saved[4].data_ptr<float>() : nullptr,
                          .num_initial = with_self ? saved[4].numel() : 0,
                          .result_scale = saved[2].data_ptr<float>(),
                          .out = ToWritableRows(result)});
    return {result, torch::Tensor(), torch::Tensor(), torch::Tensor()};
  }
};

class SegmentMaximum : public Function<SegmentMaximum> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& input, const kernels::Segments& block,
                               bool wants_gradient) {
    const torch::Tensor x = input.contiguous();
    torch::Tensor result = torch::empty({block.num_rows(), x.size(1)}, x.options().requires_grad(false));
    // Initialized, because the kernel does not write the winners of empty segments. Their value does not matter: the
    // backward pass compares winners with edges, which empty segments do not have.
    torch::Tensor winners = torch::zeros({block.num_rows(), x.size(1)}, torch::kInt32);
    kernels::MaxSegments(block, x.size(1), ToConstRows(x), ToWritableRows(result),
                         static_cast<uint32_t*>(winners.data_ptr()));
    if (wants_gradient) {
      kernels::TransposedSegments transposed = kernels::Transpose(block, x.size(0), kernels::EdgePositions::kKeep);
      context->save_for_backward({WordsToTensor(std::move(transposed.indptr)),
                                  WordsToTensor(std::move(transposed.destinations)),
                                  WordsToTensor(std::move(transposed.positions)), winners});
    }
    return result;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const torch::Tensor gradient = gradients[0].contiguous();
    const kernels::Segments by_source{ToWords(saved[0]), ToWords(saved[1])};
    torch::Tensor result = torch::empty({by_source.num_rows(), gradient.size(1)}, gradient.options());
    kernels::SumWonGradients(by_source, ToWords(saved[2]), gradient.size(1), ToConstRows(gradient),
                             static_cast<const uint32_t*>(saved[3].data_ptr()), ToWritableRows(result));
    return {result, torch::Tensor(), torch::Tensor()};
  }
};

class RowAddition : public Function<RowAddition> {
 public:
  static torch::Tensor forward(AutogradContext* context, torch::Tensor base, const torch::Tensor& values,
                               const torch::Tensor& rows) {
    const torch::Tensor added = values.contiguous();
    const std::span<const uint32_t> row_of = ToWords(rows);
    const int64_t width = base.size(1);
    auto* out = base.data_ptr<float>();
    const auto* from = added.data_ptr<float>();
    kernels::ForRowChunks(added.size(0), [&](int64_t, int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        float* __restrict to = out + int64_t{row_of[static_cast<size_t>(k)]} * width;
        const float* __restrict value = from + k * width;
        for (int64_t j = 0; j < width; ++j) to[j] += value[j];
      }
    });
    context->mark_dirty({base});
    context->save_for_backward({rows});
    return base;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const torch::Tensor rows = context->get_saved_variables()[0];
    const torch::Tensor gradient = gradients[0].contiguous();
    const std::span<const uint32_t> row_of = ToWords(rows);
    const int64_t width = gradient.size(1);
    torch::Tensor of_values = torch::empty({rows.numel(), width}, gradient.options());
    const auto* from = gradient.data_ptr<float>();
    auto* out = of_values.data_ptr<float>();
    kernels::ForRowChunks(rows.numel(), [&](int64_t, int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        std::memcpy(out + k * width, from + int64_t{row_of[static_cast<size_t>(k)]} * width,
                    static_cast<size_t>(width) * sizeof(float));
      }
    });
    return {gradients[0], of_values, torch::Tensor()};
  }
};

// Copies the block's edges to the device of x.
EdgeTensors CopyEdges(const torch::Tensor& x, const kernels::Segments& block) {
  return ToEdgeTensors(block, x.size(0), x.device(), WantsGradient(x));
}

// Copies floats to the device of x, as a column: f32 [values.size(), 1].
torch::Tensor ToColumn(std::span<const float> values, const torch::Tensor& x) {
  return torch::tensor(c10::ArrayRef<float>(values.data(), values.size()), torch::kFloat32).unsqueeze(1).to(x.device());
}

torch::Tensor ReduceByTorch(const kernels::Segments& block, const torch::Tensor& x, Reduction reduction) {
  const int64_t num_rows = block.num_rows();
  torch::Tensor sum = SumSources(CopyEdges(x, block), x);
  if (reduction == Reduction::kMeanWithSelf) sum = sum + x.narrow(0, 0, num_rows);
  if (reduction != Reduction::kSum) sum = sum * ComputeResultScale(block, reduction).unsqueeze(1).to(x.device());
  return reduction == Reduction::kSelfAndMean ? torch::cat({x.narrow(0, 0, num_rows), sum}, 1) : sum;
}

torch::Tensor ScaledSumByTorch(const kernels::Segments& block, const torch::Tensor& x, const SegmentScales& scales) {
  const auto num_rows = static_cast<size_t>(block.num_rows());
  const torch::Tensor scaled = x * ToColumn(scales.source.first(static_cast<size_t>(x.size(0))), x);
  torch::Tensor sum = SumSources(CopyEdges(x, block), scaled);
  if (!scales.self.empty()) {
    sum = sum + x.narrow(0, 0, block.num_rows()) * ToColumn(scales.self.first(num_rows), x);
  }
  return sum * ToColumn(scales.result.first(num_rows), x);
}

torch::Tensor AddToRowsByTorch(const torch::Tensor& base, const torch::Tensor& values, std::span<const uint32_t> rows) {
  const std::vector<int64_t> numbers(rows.begin(), rows.end());
  return base.index_add(0, torch::tensor(numbers, torch::kInt64).to(base.device()), values);
}

torch::Tensor Reduce(const kernels::Segments& block, const torch::Tensor& x, Reduction reduction) {
  CheckBlock(block, x);
  if (!UsesCpuKernels(x)) return ReduceByTorch(block, x, reduction);
  return SegmentReduce::apply(x, block, reduction, WantsGradient(x));
}

}  // namespace

torch::Tensor SegmentSum(const kernels::Segments& block, const torch::Tensor& x) {
  return Reduce(block, x, Reduction::kSum);
}
torch::Tensor SegmentMean(const kernels::Segments& block, const torch::Tensor& x) {
  return Reduce(block, x, Reduction::kMean);
}
torch::Tensor SegmentMeanWithSelf(const kernels::Segments& block, const torch::Tensor& x) {
  return Reduce(block, x, Reduction::kMeanWithSelf);
}
torch::Tensor SelfAndSegmentMean(const kernels::Segments& block, const torch::Tensor& x) {
  return Reduce(block, x, Reduction::kSelfAndMean);
}

torch::Tensor SegmentMax(const kernels::Segments& block, const torch::Tensor& x) {
  CheckBlock(block, x);
  if (!UsesCpuKernels(x)) return MaxSources(CopyEdges(x, block), x);
  return SegmentMaximum::apply(x, block, WantsGradient(x));
}

torch::Tensor ScaledSegmentSum(const kernels::Segments& block, const torch::Tensor& x, const SegmentScales& scales) {
  CheckBlock(block, x);
  const auto num_rows = static_cast<size_t>(block.num_rows());
  ESPALIER_CHECK(scales.source.size() >= static_cast<size_t>(x.size(0)) && scales.result.size() >= num_rows &&
                 (scales.self.empty() || scales.self.size() >= num_rows))
      << "expected a scale for each row";
  if (!UsesCpuKernels(x)) return ScaledSumByTorch(block, x, scales);
  return ScaledSum::apply(x, block, scales, WantsGradient(x));
}

torch::Tensor AddToRows(const torch::Tensor& base, const torch::Tensor& values, std::span<const uint32_t> rows) {
  ESPALIER_CHECK(base.is_contiguous() && values.size(0) == static_cast<int64_t>(rows.size()));
  if (!UsesCpuKernels(base)) return AddToRowsByTorch(base, values, rows);
  return RowAddition::apply(base, values, WordsToTensor({rows.begin(), rows.end()}));
}

}  // namespace espalier::trainer
