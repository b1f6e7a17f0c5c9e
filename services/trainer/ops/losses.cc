#include "services/trainer/ops/losses.h"

#include <cmath>
#include <sstream>
#include <string>

#include "services/base/check.h"

namespace espalier::trainer {
namespace {

constexpr int64_t kUnlabeled = -1;

// Returns the dtype and the shape, for example "float [3, 2]".
std::string Describe(const torch::Tensor& tensor) {
  std::ostringstream text;
  text << tensor.dtype() << " " << tensor.sizes();
  return text.str();
}

Status CheckClasses(const torch::Tensor& labels, int64_t num_classes) {
  if (labels.scalar_type() != torch::kInt64 || labels.dim() != 1) {
    return InvalidArgument("labels: found " + Describe(labels) + ", expected one integer class per row");
  }
  const torch::Tensor classes = labels.contiguous();
  const auto* values = classes.data_ptr<int64_t>();
  for (int64_t i = 0; i < classes.numel(); ++i) {
    if (values[i] < kUnlabeled || values[i] >= num_classes) {
      return InvalidArgument("labels: row " + std::to_string(i) + " has class " + std::to_string(values[i]) +
                             ", expected 0 to " + std::to_string(num_classes - 1) + ", or -1 (not labeled)");
    }
  }
  return {};
}

Status CheckValues(LossKind kind, const torch::Tensor& labels, int64_t num_outputs) {
  const int64_t width = labels.dim() == 1 ? 1 : labels.dim() == 2 ? labels.size(1) : -1;
  if (labels.scalar_type() != torch::kFloat32 || width != num_outputs) {
    return InvalidArgument("labels: found " + Describe(labels) + ", expected rows of " + std::to_string(num_outputs) +
                           " F32 values");
  }
  const torch::Tensor rows = labels.contiguous();
  const auto* values = rows.data_ptr<float>();
  for (int64_t i = 0; i < rows.numel(); ++i) {
    const bool fits = std::isnan(values[i]) ||
                      (kind == LossKind::kSquaredError ? std::isfinite(values[i]) : values[i] == 0 || values[i] == 1);
    if (!fits) {
      return InvalidArgument(
          "labels: row " + std::to_string(i / width) + " has " + std::to_string(values[i]) + ", expected " +
          (kind == LossKind::kSquaredError ? "a finite number or NaN" : "0 or 1, or -1 or NaN") + " (not labeled)");
    }
  }
  return {};
}

// Returns the sum of entry_loss(outputs, targets) over the labeled entries. Unlabeled entries add nothing and get no
// gradient.
template <class EntryLoss>
torch::Tensor SumOverLabeled(const torch::Tensor& outputs, const torch::Tensor& labels, const EntryLoss& entry_loss) {
  const torch::Tensor targets = labels.reshape(outputs.sizes());
  const torch::Tensor missing = torch::isnan(targets);
  const torch::Tensor losses = entry_loss(outputs, torch::where(missing, torch::zeros_like(targets), targets));
  return torch::where(missing, torch::zeros_like(losses), losses).sum();
}

}  // namespace

LossKind ToLossKind(const job::Task& task) {
  switch (task.type) {
    case job::TaskType::kNodeClassification:
    case job::TaskType::kEdgeClassification:
      return task.multi_label ? LossKind::kBinaryCrossEntropy : LossKind::kCrossEntropy;
    case job::TaskType::kNodeRegression:
    case job::TaskType::kEdgeRegression: return LossKind::kSquaredError;
    case job::TaskType::kLinkPrediction: break;  // see LinkLoss
  }
  ESPALIER_CHECK(false) << "link prediction has no labels";
  return LossKind::kCrossEntropy;
}

Status CheckLabels(LossKind kind, const torch::Tensor& labels, int64_t num_outputs) {
  if (kind == LossKind::kCrossEntropy) return CheckClasses(labels, num_outputs);
  return CheckValues(kind, labels, num_outputs);
}

torch::Tensor Loss(LossKind kind, const torch::Tensor& outputs, const torch::Tensor& labels, int64_t global_num_seeds) {
  ESPALIER_CHECK(outputs.dim() == 2 && outputs.size(0) == labels.size(0))
      << "expected one row of labels for each row of outputs";
  const torch::Tensor targets = labels.to(outputs.device());
  const double num_seeds = static_cast<double>(std::max<int64_t>(global_num_seeds, 1));
  const double num_entries = num_seeds * static_cast<double>(outputs.size(1));
  // If this rank has no seeds, the loss is zero, but must depend on `outputs`: every rank must run the backward pass,
  // in which batch normalization communicates with the other ranks.
  if (outputs.size(0) == 0) return outputs.sum() / num_seeds;
  switch (kind) {
    case LossKind::kCrossEntropy:
      return torch::nll_loss(torch::log_softmax(outputs, 1), targets, {}, at::Reduction::Sum, kUnlabeled) / num_seeds;
    case LossKind::kBinaryCrossEntropy:
      return SumOverLabeled(outputs, targets,
                            [](const torch::Tensor& x, const torch::Tensor& y) {
                              return torch::binary_cross_entropy_with_logits(x, y, {}, {}, at::Reduction::None);
                            }) /
             num_entries;
    case LossKind::kSquaredError:
      return SumOverLabeled(outputs, targets,
                            [](const torch::Tensor& x, const torch::Tensor& y) { return torch::square(x - y); }) /
             num_entries;
  }
  ESPALIER_CHECK(false) << "unknown loss";
  return {};
}

}  // namespace espalier::trainer
