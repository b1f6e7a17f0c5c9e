#include "services/kernels/activation.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "services/base/check.h"
#include "services/kernels/dropout_half_words.h"
#include "services/kernels/row_ranges.h"

namespace espalier::kernels {
namespace {

// Processes one row: sets x to scale * (x + bias) and `passes` to 1 where x + bias > 0 and dropout keeps the element,
// and otherwise both to 0. The backward pass uses `passes`. NaN counts as above 0, as in torch's ReLU: a zero in its
// place would hide it from the loss and from every metric. Combines conditions with & and | on integers instead of &&
// and ||, because the compiler vectorizes this form.
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

// Returns a buffer for the half-words of a row.
std::vector<uint16_t> MakeHalfWordBuffer(int64_t width) {
  return std::vector<uint16_t>(
      static_cast<size_t>((width + kDropoutColumnsAtOnce) / kDropoutColumnsAtOnce * kDropoutColumnsAtOnce));
}

// Fills half_words for one row. Searches for the row's range each time, because a chunk of rows may span several
// ranges.
void FillRowHalfWords(const DropoutMasks& masks, int64_t row, int64_t width, uint16_t* half_words) {
  const auto range = std::ranges::find_if(masks.ranges, [&](const MaskRange& r) { return row < r.end; });
  ESPALIER_CHECK(range != masks.ranges.end() && row >= range->begin) << "no dropout range for row " << row;
  const int64_t original_id = range->original_ids[row - range->begin];
  FillDropoutHalfWords(range->key, static_cast<uint64_t>(original_id), width, half_words);
}

}  // namespace

void BiasReluDropoutRows(const DropoutMasks& masks, int64_t num_rows, int64_t width, const float* bias, float* x,
                         uint8_t* passes) {
  const int32_t threshold = DropThreshold(masks.probability);
  const float scale = DropoutScale(masks.probability);
  ForRowChunks(num_rows, [&](int64_t, int64_t begin, int64_t end) {
    std::vector<uint16_t> half_words = MakeHalfWordBuffer(width);
    for (int64_t i = begin; i < end; ++i) {
      if (threshold > 0) FillRowHalfWords(masks, i, width, half_words.data());
      ActivateRow(x + i * width, bias, half_words.data(), threshold, scale, passes + i * width, width);
    }
  });
}

void BiasReluDropoutGradient(float scale, int64_t num_rows, int64_t width, const float* gradient, const uint8_t* passes,
                             float* x_gradient, float* bias_gradient_by_chunk) {
  ForRowChunks(num_rows, [&](int64_t chunk, int64_t begin, int64_t end) {
    std::vector<float> column_sums(static_cast<size_t>(width), 0.0f);
    for (int64_t i = begin; i < end; ++i) {
      const float* __restrict g = gradient + i * width;
      const uint8_t* __restrict p = passes + i * width;
      float* __restrict out = x_gradient + i * width;
      float* __restrict sum = column_sums.data();
      for (int64_t j = 0; j < width; ++j) {
        const float value = g[j] * (scale * static_cast<float>(p[j]));
        out[j] = value;
        sum[j] += value;
      }
    }
    if (bias_gradient_by_chunk != nullptr) {
      std::copy(column_sums.begin(), column_sums.end(), bias_gradient_by_chunk + chunk * width);
    }
  });
}

void DropoutFactors(const DropoutMasks& masks, int64_t num_rows, int64_t width, float* factors) {
  const int32_t threshold = DropThreshold(masks.probability);
  const float scale = DropoutScale(masks.probability);
  ForRowChunks(num_rows, [&](int64_t, int64_t begin, int64_t end) {
    std::vector<uint16_t> half_words = MakeHalfWordBuffer(width);
    for (int64_t i = begin; i < end; ++i) {
      if (threshold > 0) FillRowHalfWords(masks, i, width, half_words.data());
      float* __restrict row = factors + i * width;
      const uint16_t* __restrict half = half_words.data();
      for (int64_t j = 0; j < width; ++j) row[j] = int32_t{half[j]} >= threshold ? scale : 0.0f;
    }
  });
}

}  // namespace espalier::kernels
