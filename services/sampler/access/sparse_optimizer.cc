#include "services/sampler/access/sparse_optimizer.h"

#include <cmath>
#include <string>

#include "services/base/check.h"
#include "services/base/format_number.h"

namespace espalier::sampler {
namespace {

// Returns InvalidArgument for a value outside [from, below), including NaN.
Status CheckRange(const char* what, double value, double from, double below) {
  if (value >= from && value < below) return Status();
  return InvalidArgument("sparse optimizer: " + std::string(what) + " is " + FormatSignificant(value, 6) +
                         ", expected from " + FormatSignificant(from, 6) + " to below " + FormatSignificant(below, 6));
}

}  // namespace

const char* ToString(SparseOptimizerType type) {
  switch (type) {
    case SparseOptimizerType::kSgd: return "SGD";
    case SparseOptimizerType::kAdagrad: return "Adagrad";
    case SparseOptimizerType::kRowWiseAdagrad: return "RowWiseAdagrad";
    case SparseOptimizerType::kAdam: return "Adam";
    case SparseOptimizerType::kAdamW: return "AdamW";
  }
  return "unknown";
}

Status CheckSparseOptimizer(const SparseOptimizer& optimizer) {
  const auto type = static_cast<uint8_t>(optimizer.type);
  if (type < 1 || type > 5) {
    return InvalidArgument("there is no sparse optimizer of type " + std::to_string(type) + ", expected 1 to 5");
  }
  const auto duplicates = static_cast<uint8_t>(optimizer.duplicates);
  if (duplicates < 1 || duplicates > 2) {
    return InvalidArgument("there is no rule " + std::to_string(duplicates) +
                           " for duplicate gradients, expected 1 (sum) or 2 (mean)");
  }
  constexpr double kLarge = 1e6;
  RETURN_IF_ERROR(CheckRange("weight decay", optimizer.weight_decay, 0, kLarge));
  // Epsilon must be positive: in the update of a row whose gradients have all been 0, the divisor can be epsilon alone.
  RETURN_IF_ERROR(CheckRange("epsilon", EpsilonFor(optimizer), 1e-30, kLarge));
  RETURN_IF_ERROR(CheckRange("initial accumulator", optimizer.initial_accumulator, 0, kLarge));
  RETURN_IF_ERROR(CheckRange("beta1", optimizer.beta1, 0, 1));
  return CheckRange("beta2", optimizer.beta2, 0, 1);
}

double EpsilonFor(const SparseOptimizer& optimizer) {
  const bool is_adam = optimizer.type == SparseOptimizerType::kAdam || optimizer.type == SparseOptimizerType::kAdamW;
  return optimizer.epsilon.value_or(is_adam ? 1e-8 : 1e-10);
}

size_t StateWidth(SparseOptimizerType type, size_t width) {
  switch (type) {
    case SparseOptimizerType::kSgd: return 0;
    case SparseOptimizerType::kAdagrad: return width;
    case SparseOptimizerType::kRowWiseAdagrad: return 1;
    case SparseOptimizerType::kAdam:
    case SparseOptimizerType::kAdamW: return 2 * width;
  }
  ESPALIER_CHECK(false) << "no such sparse optimizer";
  return 0;
}

}  // namespace espalier::sampler
