// Normalize is one autograd function: its forward and its backward pass each need two sums per column over the rows of
// all ranks. SumColumns adds up this rank's rows in double, by chunks of a fixed size in ascending order, and
// SumOverRanks gathers the sums of all ranks and adds them in rank order. So these sums depend neither on the number of
// threads nor on the order in which ranks arrive. A rank without rows takes part with zeros.
//
// On other devices than the CPU, NormalizeByTorch computes the same with operations of torch. It also sums over rows in
// double, and copies the sums to the host for SumOverRanks.
#include "services/trainer/model/batch_norm.h"

#include <cmath>
#include <cstring>
#include <vector>

#include "services/kernels/row_ranges.h"
#include "services/trainer/model/collective_error.h"
#include "services/trainer/ops/op_path.h"

namespace espalier::trainer {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

constexpr double kVarianceEpsilon = 1e-5;
constexpr double kMomentum = 0.1;

// The group of trainers that share statistics. Autograd keeps this object until the backward pass.
struct RankGroup : torch::CustomClassHolder {
  RankGroup(collective::Collective* c, Deadline d) : collective(c), deadline(d) {}
  collective::Collective* collective;  // outlives this; null: one trainer
  Deadline deadline;
};

void SumOverRanks(const RankGroup& group, std::vector<double>& values) {
  if (group.collective == nullptr || group.collective->size() == 1) return;
  auto gathered = group.collective->AllGather(std::as_bytes(std::span<const double>(values)), group.deadline);
  if (!gathered.ok()) throw CollectiveError(gathered.status().While("batch normalization"));
  std::fill(values.begin(), values.end(), 0.0);
  for (uint32_t rank = 0; rank < group.collective->size(); ++rank) {
    for (size_t i = 0; i < values.size(); ++i) {
      double value;
      std::memcpy(&value, gathered->data() + (rank * values.size() + i) * sizeof(double), sizeof(double));
      values[i] += value;
    }
  }
}

// Returns the column sums of two values per element, added in chunk order: the sums of the first values, then those of
// the second values, `width` each. get_values(index, column) returns both values of an element.
template <class GetValues>
std::vector<double> SumColumns(int64_t num_rows, int64_t width, const GetValues& get_values) {
  const auto stride = static_cast<size_t>(2 * width);
  std::vector<double> by_chunk(static_cast<size_t>(kernels::NumChunks(num_rows)) * stride, 0.0);
  kernels::ForRowChunks(num_rows, [&](int64_t chunk, int64_t begin, int64_t end) {
    double* sums = by_chunk.data() + static_cast<size_t>(chunk) * stride;
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t j = 0; j < width; ++j) {
        const auto [first, second] = get_values(i * width + j, j);
        sums[j] += first;
        sums[width + j] += second;
      }
    }
  });
  std::vector<double> total(stride, 0.0);
  for (size_t k = 0; k < by_chunk.size(); ++k) total[k % stride] += by_chunk[k];
  return total;
}

// Statistics by column with which a batch is normalized.
struct BatchStatistics {
  torch::Tensor mean;               // f32 [F]
  torch::Tensor inverse_deviation;  // f32 [F]
  torch::Tensor unbiased_variance;  // f32 [F]
  double count = 0;                 // rows of all ranks
};

// Returns the column sums of `first`, then those of `second`. The arguments are f64 [N, F], on any device.
std::vector<double> SumColumnsByTorch(const torch::Tensor& first, const torch::Tensor& second) {
  const torch::Tensor sums = torch::cat({first.sum(0), second.sum(0)}).cpu();
  return {sums.data_ptr<double>(), sums.data_ptr<double>() + sums.numel()};
}

// Returns the column sums of the values and of their squares.
std::vector<double> SumValuesAndSquares(const torch::Tensor& x) {
  if (!UsesCpuKernels(x)) {
    const torch::Tensor wide = x.to(torch::kFloat64);
    return SumColumnsByTorch(wide, wide.square());
  }
  const auto* values = x.data_ptr<float>();
  return SumColumns(x.size(0), x.size(1), [&](int64_t at, int64_t) {
    const double value = values[at];
    return std::pair(value, value * value);
  });
}

BatchStatistics ComputeStatistics(const torch::Tensor& x, const RankGroup& group) {
  const int64_t width = x.size(1);
  std::vector<double> sums = SumValuesAndSquares(x);
  sums.push_back(static_cast<double>(x.size(0)));
  SumOverRanks(group, sums);

  BatchStatistics result{torch::empty({width}), torch::empty({width}), torch::empty({width}), sums.back()};
  const double count = std::max(result.count, 1.0);
  for (int64_t j = 0; j < width; ++j) {
    const double mean = sums[static_cast<size_t>(j)] / count;
    const double variance = std::max(0.0, sums[static_cast<size_t>(width + j)] / count - mean * mean);
    result.mean.data_ptr<float>()[j] = static_cast<float>(mean);
    result.inverse_deviation.data_ptr<float>()[j] = static_cast<float>(1.0 / std::sqrt(variance + kVarianceEpsilon));
    result.unbiased_variance.data_ptr<float>()[j] = static_cast<float>(variance * count / std::max(count - 1.0, 1.0));
  }
  for (torch::Tensor* const statistic : {&result.mean, &result.inverse_deviation, &result.unbiased_variance}) {
    *statistic = statistic->to(x.device());
  }
  return result;
}

class Normalize : public Function<Normalize> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x, const torch::Tensor& weight,
                               const torch::Tensor& bias, const BatchStatistics& statistics,
                               const c10::intrusive_ptr<RankGroup>& group) {
    const int64_t width = x.size(1);
    torch::Tensor y = torch::empty(x.sizes(), torch::kFloat32);
    const auto *from = x.data_ptr<float>(), *mean = statistics.mean.data_ptr<float>();
    const auto *inverse = statistics.inverse_deviation.data_ptr<float>(), *w = weight.data_ptr<float>(),
               *b = bias.data_ptr<float>();
    auto* to = y.data_ptr<float>();
    kernels::ForRowChunks(x.size(0), [&](int64_t, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t j = 0; j < width; ++j) {
          to[i * width + j] = (from[i * width + j] - mean[j]) * inverse[j] * w[j] + b[j];
        }
      }
    });
    context->save_for_backward({x, weight, statistics.mean, statistics.inverse_deviation});
    context->saved_data["count"] = statistics.count;
    context->saved_data["group"] = c10::IValue::make_capsule(group);
    return y;
  }

  // With h = (x - mean) / deviation and n the number of rows of all ranks:
  // dx = weight / deviation * (dy - sum(dy) / n - h * sum(dy h) / n)
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const torch::Tensor gradient = gradients[0].contiguous();
    const auto capsule = context->saved_data["group"].toCapsule();
    const auto& group = static_cast<const RankGroup&>(*capsule);
    const int64_t width = gradient.size(1);
    const auto *dy = gradient.data_ptr<float>(), *x = saved[0].data_ptr<float>(), *w = saved[1].data_ptr<float>();
    const auto *mean = saved[2].data_ptr<float>(), *inverse = saved[3].data_ptr<float>();
    const auto h = [&](int64_t at, int64_t j) { return (x[at] - mean[j]) * inverse[j]; };

    std::vector<double> sums = SumColumns(gradient.size(0), width, [&](int64_t at, int64_t j) {
      return std::pair(double{dy[at]}, double{dy[at]} * double{h(at, j)});
    });
    // The gradients of the parameters are sums over this trainer's rows; the training loop adds up those of all
    // trainers.
    const torch::Tensor parameter_gradients =
        torch::from_blob(sums.data(), {2, width}, torch::kFloat64).to(torch::kFloat32);
    SumOverRanks(group, sums);

    const double count = std::max(context->saved_data["count"].toDouble(), 1.0);
    std::vector<float> mean_dy(static_cast<size_t>(width)), mean_dy_h(static_cast<size_t>(width));
    for (size_t j = 0; j < mean_dy.size(); ++j) {
      mean_dy[j] = static_cast<float>(sums[j] / count);
      mean_dy_h[j] = static_cast<float>(sums[mean_dy.size() + j] / count);
    }
    torch::Tensor x_gradient = torch::empty(gradient.sizes(), torch::kFloat32);
    auto* to = x_gradient.data_ptr<float>();
    kernels::ForRowChunks(gradient.size(0), [&](int64_t, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t j = 0; j < width; ++j) {
          const int64_t at = i * width + j;
          const auto column = static_cast<size_t>(j);
          to[at] = w[j] * inverse[j] * (dy[at] - mean_dy[column] - h(at, j) * mean_dy_h[column]);
        }
      }
    });
    return {x_gradient, parameter_gradients[1].clone(), parameter_gradients[0].clone(), torch::Tensor(),
            torch::Tensor()};
  }
};

// The same formulas as Normalize.
class NormalizeByTorch : public Function<NormalizeByTorch> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x, const torch::Tensor& weight,
                               const torch::Tensor& bias, const BatchStatistics& statistics,
                               const c10::intrusive_ptr<RankGroup>& group) {
    const torch::Tensor h = (x - statistics.mean) * statistics.inverse_deviation;
    context->save_for_backward({h, weight, statistics.inverse_deviation});
    context->saved_data["count"] = statistics.count;
    context->saved_data["group"] = c10::IValue::make_capsule(group);
    return h * weight + bias;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const torch::Tensor &gradient = gradients[0], &h = saved[0];
    const auto capsule = context->saved_data["group"].toCapsule();
    const torch::Tensor wide = gradient.to(torch::kFloat64);
    std::vector<double> sums = SumColumnsByTorch(wide, wide * h.to(torch::kFloat64));
    const auto on_device = [&](double divisor) {
      const torch::Tensor both = torch::tensor(sums, torch::kFloat64).div_(divisor).view({2, -1});
      return both.to(gradient.device(), torch::kFloat32);
    };
    const torch::Tensor parameter_gradients = on_device(1);  // this trainer's share
    SumOverRanks(static_cast<const RankGroup&>(*capsule), sums);
    const torch::Tensor means = on_device(std::max(context->saved_data["count"].toDouble(), 1.0));
    const torch::Tensor x_gradient = saved[1] * saved[2] * (gradient - means[0] - h * means[1]);
    return {x_gradient, parameter_gradients[1].clone(), parameter_gradients[0].clone(), torch::Tensor(),
            torch::Tensor()};
  }
};

}  // namespace

BatchNormImpl::BatchNormImpl(int64_t width)
    : weight_(register_parameter("weight", torch::ones({width}))),
      bias_(register_parameter("bias", torch::zeros({width}))),
      running_mean_(register_buffer("running_mean", torch::zeros({width}))),
      running_variance_(register_buffer("running_var", torch::ones({width}))) {}

torch::Tensor BatchNormImpl::forward(const torch::Tensor& x, const LayerRun& run) {
  if (!run.training) {
    const torch::Tensor scale = weight_ / torch::sqrt(running_variance_ + kVarianceEpsilon);
    return x * scale + (bias_ - running_mean_ * scale);
  }
  const torch::Tensor rows = x.contiguous();
  const auto group = c10::make_intrusive<RankGroup>(run.collective, run.deadline);
  const BatchStatistics statistics = ComputeStatistics(rows.detach(), *group);
  if (statistics.count > 0) {
    torch::NoGradGuard no_gradient;
    running_mean_.mul_(1 - kMomentum).add_(statistics.mean, kMomentum);
    running_variance_.mul_(1 - kMomentum).add_(statistics.unbiased_variance, kMomentum);
  }
  if (!UsesCpuKernels(rows)) return NormalizeByTorch::apply(rows, weight_, bias_, statistics, group);
  return Normalize::apply(rows, weight_, bias_, statistics, group);
}

}  // namespace espalier::trainer
