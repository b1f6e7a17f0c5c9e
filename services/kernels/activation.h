// What a hidden layer does to its rows at the end, in one pass over the memory: bias, ReLU and dropout. Loops over
// arrays of f32, without torch; their autograd for libtorch is in trainer/ops/activation.h.
//
// A mask is a pure function of (key, original id of the row, column) (dropout_half_words.h): results depend neither on
// the number of threads nor on where a row lies.
#pragma once

#include <cstdint>
#include <span>

namespace espalier::kernels {

// The masks of rows [begin, end), which belong to one node type.
struct MaskRange {
  int64_t begin = 0;
  int64_t end = 0;
  uint64_t key = 0;
  const int64_t* original_ids = nullptr;  // [end - begin]
};

struct DropoutMasks {
  double probability = 0;             // 0: none; < 1
  std::span<const MaskRange> ranges;  // ascending; cover all rows (checked) if probability > 0
};

// x = dropout(relu(x + bias)) in place, x f32 [num_rows, width], bias f32 [width]. passes, u8 [num_rows, width]: 1
// where the element was kept and above 0. NaN counts as above 0, as in torch's ReLU.
void BiasReluDropoutRows(const DropoutMasks& masks, int64_t num_rows, int64_t width, const float* bias, float* x,
                         uint8_t* passes);

// of_x = scale * passes * gradient. of_bias_by_chunk: partial sums [NumChunks(num_rows), width] of of_x over chunks of
// rows (row_ranges.h), or null.
void BiasReluDropoutGradient(float scale, int64_t num_rows, int64_t width, const float* gradient, const uint8_t* passes,
                             float* of_x, float* of_bias_by_chunk);

// factors, f32 [num_rows, width]: 0 for what is dropped, KeptScale(probability) for the rest.
void DropoutFactors(const DropoutMasks& masks, int64_t num_rows, int64_t width, float* factors);

}  // namespace espalier::kernels
