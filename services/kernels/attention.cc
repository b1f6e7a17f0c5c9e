// Values of edges and gradients of destinations are computed by loops over destinations. Gradients of sources are
// computed by loops over the transposed edges, whose `positions` locate the values of each edge.
#include "services/kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "services/base/hash.h"
#include "services/base/philox.h"
#include "services/kernels/dropout_half_words.h"
#include "services/kernels/row_ranges.h"

namespace espalier::kernels {
namespace {

float LeakyRelu(float value, float slope) { return value > 0.0f ? value : slope * value; }
float LeakyReluSlope(float value, float slope) { return value > 0.0f ? 1.0f : slope; }

// Calls body(d, e, s) for every edge e of destination d from source s. One thread visits all edges of a destination, in
// order.
template <class Body>
void ForEdges(const Segments& segments, const Body& body) {
  ForSegmentRanges(segments.indptr, [&](int64_t begin, int64_t end) {
    for (int64_t d = begin; d < end; ++d) {
      const auto row = static_cast<size_t>(d);
      for (uint32_t e = segments.indptr[row]; e < segments.indptr[row + 1]; ++e) body(d, e, segments.indices[e]);
    }
  });
}

// Computes out[row, :] = sum over the row's edges k of values[positions[k], :], f32 [rows, heads]. If `positions`
// is empty, sums values[k, :].
void SumOverEdges(const Segments& rows, std::span<const uint32_t> positions, int64_t heads, const float* values,
                  float* out) {
  ForSegmentRanges(rows.indptr, [&](int64_t begin, int64_t end) {
    std::memset(out + begin * heads, 0, static_cast<size_t>((end - begin) * heads) * sizeof(float));
    for (int64_t row = begin; row < end; ++row) {
      float* __restrict sum = out + row * heads;
      for (uint32_t k = rows.indptr[static_cast<size_t>(row)]; k < rows.indptr[static_cast<size_t>(row) + 1]; ++k) {
        const float* __restrict value = values + int64_t{positions.empty() ? k : positions[k]} * heads;
        for (int64_t h = 0; h < heads; ++h) sum[h] += value[h];
      }
    }
  });
}

// Adds the gradient of one edge's scores with respect to the row of one of its endpoints:
// to[h, j] += gradient[h] * attention[h, j] * LeakyReLU'(a[h, j] + b[h, j]).
void AddDynamicScoreGradient(HeadShape shape, float negative_slope, const float* a, const float* b,
                             const float* attention, const float* gradient, float* to) {
  for (int64_t h = 0; h < shape.heads; ++h) {
    const float* __restrict x = a + h * shape.columns;
    const float* __restrict y = b + h * shape.columns;
    const float* __restrict weight = attention + h * shape.columns;
    float* __restrict sum = to + h * shape.columns;
    for (int64_t j = 0; j < shape.columns; ++j) {
      sum[j] += gradient[h] * weight[j] * LeakyReluSlope(x[j] + y[j], negative_slope);
    }
  }
}

}  // namespace

void AdditiveScores(const Segments& segments, int64_t heads, float negative_slope, const float* source,
                    const float* destination, float* scores) {
  ForEdges(segments, [&](int64_t d, uint32_t e, uint32_t s) {
    const float* __restrict a = source + int64_t{s} * heads;
    const float* __restrict b = destination + d * heads;
    float* __restrict out = scores + int64_t{e} * heads;
    for (int64_t h = 0; h < heads; ++h) out[h] = LeakyRelu(a[h] + b[h], negative_slope);
  });
}

void AdditiveScoreGradients(const EdgeView& edges, int64_t heads, float negative_slope, const float* source,
                            const float* destination, const float* gradient, float* slopes, float* of_source,
                            float* of_destination) {
  ForEdges(edges.segments, [&](int64_t d, uint32_t e, uint32_t s) {
    const float* __restrict a = source + int64_t{s} * heads;
    const float* __restrict b = destination + d * heads;
    const float* __restrict g = gradient + int64_t{e} * heads;
    float* __restrict out = slopes + int64_t{e} * heads;
    for (int64_t h = 0; h < heads; ++h) out[h] = g[h] * LeakyReluSlope(a[h] + b[h], negative_slope);
  });
  SumOverEdges(edges.segments, {}, heads, slopes, of_destination);
  SumOverEdges(edges.by_source, edges.positions, heads, slopes, of_source);
}

void DynamicScores(const Segments& segments, HeadShape shape, float negative_slope, const float* source,
                   const float* destination, const float* attention, float* scores) {
  const int64_t width = shape.width();
  ForEdges(segments, [&](int64_t d, uint32_t e, uint32_t s) {
    for (int64_t h = 0; h < shape.heads; ++h) {
      const float* __restrict a = source + int64_t{s} * width + h * shape.columns;
      const float* __restrict b = destination + d * width + h * shape.columns;
      const float* __restrict weight = attention + h * shape.columns;
      float sum = 0;
      for (int64_t j = 0; j < shape.columns; ++j) sum += weight[j] * LeakyRelu(a[j] + b[j], negative_slope);
      scores[int64_t{e} * shape.heads + h] = sum;
    }
  });
}

void DynamicScoreGradients(const EdgeView& edges, HeadShape shape, float negative_slope, const float* source,
                           const float* destination, const float* attention, const float* gradient, float* of_source,
                           float* of_destination, float* of_attention_by_chunk) {
  const int64_t width = shape.width(), num_rows = edges.segments.num_rows();
  const auto row_bytes = static_cast<size_t>(width) * sizeof(float);
  ForRowChunks(num_rows, [&](int64_t chunk, int64_t begin, int64_t end) {
    float* of_attention = of_attention_by_chunk + chunk * width;
    std::memset(of_attention, 0, row_bytes);
    for (int64_t d = begin; d < end; ++d) {
      const float* b = destination + d * width;
      std::memset(of_destination + d * width, 0, row_bytes);
      for (uint32_t e = edges.segments.indptr[static_cast<size_t>(d)];
           e < edges.segments.indptr[static_cast<size_t>(d) + 1]; ++e) {
        const float* a = source + int64_t{edges.segments.indices[e]} * width;
        const float* g = gradient + int64_t{e} * shape.heads;
        AddDynamicScoreGradient(shape, negative_slope, a, b, attention, g, of_destination + d * width);
        for (int64_t h = 0; h < shape.heads; ++h) {
          float* __restrict sum = of_attention + h * shape.columns;
          const float* __restrict x = a + h * shape.columns;
          const float* __restrict y = b + h * shape.columns;
          for (int64_t j = 0; j < shape.columns; ++j) sum[j] += g[h] * LeakyRelu(x[j] + y[j], negative_slope);
        }
      }
    }
  });
  ForSegmentRanges(edges.by_source.indptr, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s) {
      std::memset(of_source + s * width, 0, row_bytes);
      for (uint32_t k = edges.by_source.indptr[static_cast<size_t>(s)];
           k < edges.by_source.indptr[static_cast<size_t>(s) + 1]; ++k) {
        AddDynamicScoreGradient(shape, negative_slope, source + s * width,
                                destination + int64_t{edges.by_source.indices[k]} * width, attention,
                                gradient + int64_t{edges.positions[k]} * shape.heads, of_source + s * width);
      }
    }
  });
}

void SoftmaxOverSegments(const Segments& segments, int64_t heads, const float* scores, float* weights) {
  ForSegmentRanges(segments.indptr, [&](int64_t begin, int64_t end) {
    for (int64_t d = begin; d < end; ++d) {
      const int64_t first = segments.indptr[static_cast<size_t>(d)], last = segments.indptr[static_cast<size_t>(d) + 1];
      for (int64_t h = 0; first < last && h < heads; ++h) {
        float largest = scores[first * heads + h];
        for (int64_t e = first + 1; e < last; ++e) largest = std::max(largest, scores[e * heads + h]);
        float sum = 0;
        for (int64_t e = first; e < last; ++e) {
          const float weight = std::exp(scores[e * heads + h] - largest);
          weights[e * heads + h] = weight;
          sum += weight;
        }
        // `sum` is at least 1, the term of the largest score.
        for (int64_t e = first; e < last; ++e) weights[e * heads + h] /= sum;
      }
    }
  });
}

void SoftmaxOverSegmentsGradient(const Segments& segments, int64_t heads, const float* weights, const float* gradient,
                                 float* of_scores) {
  ForSegmentRanges(segments.indptr, [&](int64_t begin, int64_t end) {
    for (int64_t d = begin; d < end; ++d) {
      const int64_t first = segments.indptr[static_cast<size_t>(d)], last = segments.indptr[static_cast<size_t>(d) + 1];
      for (int64_t h = 0; h < heads; ++h) {
        float weighted_sum = 0;
        for (int64_t e = first; e < last; ++e) weighted_sum += weights[e * heads + h] * gradient[e * heads + h];
        for (int64_t e = first; e < last; ++e) {
          of_scores[e * heads + h] = weights[e * heads + h] * (gradient[e * heads + h] - weighted_sum);
        }
      }
    }
  });
}

void EdgeDots(const Segments& segments, HeadShape shape, const float* source, const float* destination, float* dots) {
  const int64_t width = shape.width();
  ForEdges(segments, [&](int64_t d, uint32_t e, uint32_t s) {
    for (int64_t h = 0; h < shape.heads; ++h) {
      const float* __restrict a = source + int64_t{s} * width + h * shape.columns;
      const float* __restrict b = destination + d * width + h * shape.columns;
      float sum = 0;
      for (int64_t j = 0; j < shape.columns; ++j) sum += b[j] * a[j];
      dots[int64_t{e} * shape.heads + h] = sum;
    }
  });
}

void WeightedSums(const Segments& segments, std::span<const uint32_t> positions, HeadShape shape, const float* weights,
                  const float* source, float* out) {
  const int64_t width = shape.width();
  ForSegmentRanges(segments.indptr, [&](int64_t begin, int64_t end) {
    std::memset(out + begin * width, 0, static_cast<size_t>((end - begin) * width) * sizeof(float));
    for (int64_t d = begin; d < end; ++d) {
      for (uint32_t e = segments.indptr[static_cast<size_t>(d)]; e < segments.indptr[static_cast<size_t>(d) + 1]; ++e) {
        const float* weight = weights + int64_t{positions.empty() ? e : positions[e]} * shape.heads;
        const float* row = source + int64_t{segments.indices[e]} * width;
        for (int64_t h = 0; h < shape.heads; ++h) {
          const float* __restrict from = row + h * shape.columns;
          float* __restrict sum = out + d * width + h * shape.columns;
          for (int64_t j = 0; j < shape.columns; ++j) sum[j] += weight[h] * from[j];
        }
      }
    }
  });
}

void WeightedSumGradients(const EdgeView& edges, HeadShape shape, const float* weights, const float* source,
                          const float* gradient, float* of_weights, float* of_source) {
  EdgeDots(edges.segments, shape, source, gradient, of_weights);
  WeightedSums(edges.by_source, edges.positions, shape, weights, gradient, of_source);
}

void EdgeDropoutFactors(const Segments& segments, int64_t heads, const EdgeMasks& masks, float* factors) {
  const int32_t threshold = DropThreshold(masks.probability);
  const float scale = DropoutScale(masks.probability);
  ForEdges(segments, [&](int64_t d, uint32_t e, uint32_t s) {
    const auto source = static_cast<uint64_t>(masks.source_ids[s]);
    const auto destination = static_cast<uint64_t>(masks.destination_ids[d]);
    // A block of Philox has 8 half-words, one for each of 8 heads.
    for (int64_t first = 0; first < heads; first += 8) {
      const auto words = Philox4x32(HashCombine(masks.key, static_cast<uint64_t>(first / 8)), source, destination);
      for (int64_t h = first; h < std::min(heads, first + 8); ++h) {
        const uint32_t word = words[static_cast<size_t>(h - first) / 2];
        const auto half = static_cast<int32_t>(word >> (16 * ((h - first) % 2)) & 0xFFFFu);
        factors[int64_t{e} * heads + h] = half >= threshold ? scale : 0.0f;
      }
    }
  });
}

}  // namespace espalier::kernels
