// The type and options of the optimizer of learnable rows. shard/row_update.h has its arithmetic.
//
// All optimizers are lazy: a step changes only the rows that have a gradient in it, and the moments and weights of
// other rows do not decay, as with torch.optim.SparseAdam. For a row that has a gradient in every step, each optimizer
// equals torch's dense optimizer of the same name, if torch has one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "services/base/status.h"

namespace espalier::sampler {

// The numbers are on the wire: never renumber.
enum class SparseOptimizerType : uint8_t {
  kSgd = 1,             // w -= rate * g
  kAdagrad = 2,         // a sum of squares for each element (Duchi, Hazan, Singer, JMLR 12, 2011)
  kRowWiseAdagrad = 3,  // one sum for each row, of the gradients' mean squares: FBGEMM's EXACT_ROWWISE_ADAGRAD
  kAdam = 4,            // Kingma, Ba, ICLR 2015
  kAdamW = 5,           // Loshchilov, Hutter, ICLR 2019
};

const char* ToString(SparseOptimizerType type);  // "SGD", "Adagrad", "RowWiseAdagrad", "Adam", "AdamW"

// How several gradients of one row in one step are combined.
enum class DuplicateGradients : uint8_t {
  kSum = 1,  // what autograd does
  // The sum divided by the number of gradients over all ranks, as in DGL's sparse optimizers. Two gradients that one
  // rank has sent for a row count as two.
  kMean = 2,
};

struct SparseOptimizer {
  SparseOptimizerType type = SparseOptimizerType::kAdagrad;
  DuplicateGradients duplicates = DuplicateGradients::kSum;
  // Applied to rows with a gradient. AdamW subtracts rate * decay * w from w before the step; the other optimizers add
  // decay * w to the gradient.
  double weight_decay = 0;
  std::optional<double> epsilon = {};  // not for SGD; absent: torch's default (EpsilonFor)
  double initial_accumulator = 0;      // Adagrad, RowWiseAdagrad
  double beta1 = 0.9, beta2 = 0.999;   // Adam, AdamW

  friend bool operator==(const SparseOptimizer&, const SparseOptimizer&) = default;
};

// Returns OK, or InvalidArgument with the number that is out of range: options come over the network.
Status CheckSparseOptimizer(const SparseOptimizer& optimizer);

// Returns the number that is added to the divisor (a square root) of an update: the configured one, or torch's default,
// 1e-8 for Adam and AdamW and 1e-10 for the others.
double EpsilonFor(const SparseOptimizer& optimizer);

// Returns how many F32 values an optimizer keeps for each row of `width` values: none, Adagrad's sums, or Adam's first
// and then second moments. `type` must be a value of the enum.
size_t StateWidth(SparseOptimizerType type, size_t width);

}  // namespace espalier::sampler
