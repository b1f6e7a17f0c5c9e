// The last operations of a hidden layer in one pass over memory: bias, ReLU and dropout. The kernels are loops over
// arrays of f32 that do not depend on torch; trainer/ops/activation.h has their autograd functions for libtorch.
//
// A dropout mask is a pure function of (key, original ID of the row, column) (dropout_half_words.h). Results do not
// depend on the number of threads, and the values of a row do not depend on its position.
#pragma once

#include <cstdint>
#include <span>

namespace espalier::kernels {

// The key and the original IDs that determine the masks of rows [begin, end), all of one node type.
struct MaskRange {
  int64_t begin = 0;
  int64_t end = 0;
  uint64_t key = 0;
  const int64_t* original_ids = nullptr;  // [end - begin]
};

struct DropoutMasks {
  double probability = 0;             // in [0, 1); 0: nothing is dropped
  std::span<const MaskRange> ranges;  // ascending; cover all rows (checked) if probability > 0
};

// Computes x = dropout(relu(x + bias)) in place: x f32 [num_rows, width], bias f32 [width]. Sets passes, u8
// [num_rows, width], to 1 where x + bias was above 0 and dropout kept the element, and otherwise to 0. NaN counts as
// above 0, as in torch's ReLU.
void BiasReluDropoutRows(const DropoutMasks& masks, int64_t num_rows, int64_t width, const float* bias, float* x,
                         uint8_t* passes);

// Backward pass of BiasReluDropoutRows: computes x_gradient = scale * passes * gradient, f32 [num_rows, width], where
// scale is DropoutScale(probability). bias_gradient_by_chunk, unless null, gets the partial sums [NumChunks(num_rows),
// width] of x_gradient over chunks of rows (row_ranges.h).
void BiasReluDropoutGradient(float scale, int64_t num_rows, int64_t width, const float* gradient, const uint8_t* passes,
                             float* x_gradient, float* bias_gradient_by_chunk);

// Sets factors, f32 [num_rows, width]: 0 for dropped elements, DropoutScale(probability) for the others.
void DropoutFactors(const DropoutMasks& masks, int64_t num_rows, int64_t width, float* factors);

}  // namespace espalier::kernels
