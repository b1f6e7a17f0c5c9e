// What a learnable row's owner does with its gradients: the optimiser as a value. The arithmetic is shard's
// (shard/row_update.h).
//
// All optimisers are lazy: a step changes the rows that have a gradient in it, and no others. Neither moments nor
// weights of other rows decay meanwhile, as with torch.optim.SparseAdam. On a row that has a gradient in every step
// each of them is torch's dense optimiser of the same name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "services/base/status.h"

namespace espalier::sampler {

// The numbers are on the wire: never renumber.
enum class SparseOptimizerType : uint8_t {
  kSgd = 1,             // w -= rate g
  kAdagrad = 2,         // a sum of squares for each element (Duchi, Hazan, Singer, JMLR 12, 2011)
  kRowWiseAdagrad = 3,  // one sum for each row, of its mean square: FBGEMM's EXACT_ROWWISE_ADAGRAD
  kAdam = 4,            // Kingma, Ba, ICLR 2015
  kAdamW = 5,           // Loshchilov, Hutter, ICLR 2019
};

const char* ToString(SparseOptimizerType type);  // "SGD", "Adagrad", "RowWiseAdagrad", "Adam", "AdamW"

// What several gradients of one row in one step become.
enum class DuplicateGradients : uint8_t {
  kSum = 1,  // what autograd does
  // What DGL's sparse optimisers do: divided by how many there are, over all ranks. A row that a rank has sent twice
  // counts twice.
  kMean = 2,
};

struct SparseOptimizer {
  SparseOptimizerType type = SparseOptimizerType::kAdagrad;
  DuplicateGradients duplicates = DuplicateGradients::kSum;
  // Of rows with a gradient. AdamW: w -= rate decay w before the step; the others: added to the gradient, decay w.
  double weight_decay = 0;
  std::optional<double> epsilon = {};  // all but SGD; absent: torch's of the type (EpsilonFor)
  double initial_accumulator = 0;      // Adagrad, row-wise too
  double beta1 = 0.9, beta2 = 0.999;   // Adam, AdamW

  friend bool operator==(const SparseOptimizer&, const SparseOptimizer&) = default;
};

// InvalidArgument names the number that is out of range: options come over the network.
Status CheckSparseOptimizer(const SparseOptimizer& optimizer);

// What is added to the root that a step divides by: as set, else torch's, 1e-8 of Adam and AdamW, 1e-10 of the others.
double EpsilonFor(const SparseOptimizer& optimizer);

// F32 values that the optimiser, which exists, keeps beside each row of `width` values: none, Adagrad's sums, or Adam's
// first and then second moments.
size_t StateWidth(SparseOptimizerType type, size_t width);

}  // namespace espalier::sampler
