// SumSegments and MaxSegments prefetch the source rows of later edges, because rows lie at random addresses.
// SumSegments adds four source rows per pass over the output row.
#include "services/kernels/segments.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "services/kernels/row_ranges.h"

namespace espalier::kernels {
namespace {

constexpr uint32_t kPrefetchAhead = 8;    // edges
constexpr int64_t kPrefetchBytes = 1024;  // of a row; the hardware prefetches the rest
constexpr int64_t kCacheLineBytes = 64;

void PrefetchRow(const float* row, int64_t width) {
  const auto* bytes = reinterpret_cast<const char*>(row);
  const int64_t num_bytes = std::min<int64_t>(width * 4, kPrefetchBytes);
  for (int64_t at = 0; at < num_bytes; at += kCacheLineBytes) __builtin_prefetch(bytes + at);
}

// Adds four rows in the order of the edges, in one pass over the output row.
template <bool kScaled>
void AddRows4(float* __restrict out, const float* const rows[4], const float scales[4], int64_t width) {
  const float* __restrict a = rows[0], * __restrict b = rows[1], * __restrict c = rows[2], * __restrict d = rows[3];
  for (int64_t j = 0; j < width; ++j) {
    if constexpr (kScaled) {
      out[j] = (((out[j] + scales[0] * a[j]) + scales[1] * b[j]) + scales[2] * c[j]) + scales[3] * d[j];
    } else {
      out[j] = (((out[j] + a[j]) + b[j]) + c[j]) + d[j];
    }
  }
}

template <bool kScaled>
void AddRow(float* __restrict out, const float* __restrict row, float scale, int64_t width) {
  for (int64_t j = 0; j < width; ++j) out[j] += kScaled ? scale * row[j] : row[j];
}

// Sets the output row to its initial value.
void InitializeRow(const SegmentSumArguments& a, int64_t i, float* __restrict out) {
  if (i >= a.num_initial) {
    std::memset(out, 0, static_cast<size_t>(a.width) * sizeof(float));
    return;
  }
  const float* __restrict initial = a.initial.data + i * a.initial.stride;
  const float scale = a.initial_scale == nullptr ? 1.0f : a.initial_scale[i];
  for (int64_t j = 0; j < a.width; ++j) out[j] = scale * initial[j];
}

template <bool kScaled>
void SumRange(const SegmentSumArguments& a, int64_t begin, int64_t end) {
  const uint32_t* indptr = a.segments.indptr.data();
  const uint32_t* indices = a.segments.indices.data();
  const uint32_t last_edge = indptr[end];
  for (int64_t i = begin; i < end; ++i) {
    float* out = a.out.data + i * a.out.stride;
    InitializeRow(a, i, out);
    uint32_t e = indptr[i];
    const float* rows[4];
    float scales[4] = {1, 1, 1, 1};
    const auto fetch = [&](uint32_t k) {
      if (e + k + kPrefetchAhead < last_edge) {
        PrefetchRow(a.source.data + indices[e + k + kPrefetchAhead] * a.source.stride, a.width);
      }
      const uint32_t s = indices[e + k];
      rows[k] = a.source.data + s * a.source.stride;
      if constexpr (kScaled) scales[k] = a.source_scale[s];
    };
    for (; e + 4 <= indptr[i + 1]; e += 4) {
      for (uint32_t k = 0; k < 4; ++k) fetch(k);
      AddRows4<kScaled>(out, rows, scales, a.width);
    }
    for (; e < indptr[i + 1]; ++e) {
      fetch(0);
      AddRow<kScaled>(out, rows[0], scales[0], a.width);
    }
    if (a.result_scale != nullptr) {
      const float scale = a.result_scale[i];
      for (int64_t j = 0; j < a.width; ++j) out[j] *= scale;
    }
  }
}

}  // namespace

void SumSegments(const SegmentSumArguments& arguments) {
  ForSegmentRanges(arguments.segments.indptr, [&](int64_t begin, int64_t end) {
    if (arguments.source_scale != nullptr) {
      SumRange<true>(arguments, begin, end);
    } else {
      SumRange<false>(arguments, begin, end);
    }
  });
}

void MaxSegments(const Segments& segments, int64_t width, ConstRows source, Rows out, uint32_t* winners) {
  ForSegmentRanges(segments.indptr, [&](int64_t begin, int64_t end) {
    const uint32_t last_edge = segments.indptr[static_cast<size_t>(end)];
    for (int64_t i = begin; i < end; ++i) {
      const uint32_t first = segments.indptr[static_cast<size_t>(i)];
      const uint32_t last = segments.indptr[static_cast<size_t>(i) + 1];
      float* __restrict best = out.data + i * out.stride;
      uint32_t* __restrict winner = winners + i * width;
      if (first == last) std::memset(best, 0, static_cast<size_t>(width) * sizeof(float));
      for (uint32_t e = first; e < last; ++e) {
        if (e + kPrefetchAhead < last_edge) {
          PrefetchRow(source.data + segments.indices[e + kPrefetchAhead] * source.stride, width);
        }
        const float* __restrict row = source.data + segments.indices[e] * source.stride;
        if (e == first) {
          std::memcpy(best, row, static_cast<size_t>(width) * sizeof(float));
          for (int64_t j = 0; j < width; ++j) winner[j] = e;
          continue;
        }
        // A NaN wins over any value. Afterwards only another NaN wins, because no comparison with NaN is true.
        for (int64_t j = 0; j < width; ++j) {
          const int32_t wins = (row[j] > best[j] ? 1 : 0) | (std::isnan(row[j]) ? 1 : 0);
          best[j] = wins != 0 ? row[j] : best[j];
          winner[j] = wins != 0 ? e : winner[j];
        }
      }
    }
  });
}

TransposedSegments Transpose(const Segments& segments, int64_t num_sources, EdgePositions positions) {
  TransposedSegments result;
  result.indptr.assign(static_cast<size_t>(num_sources) + 1, 0);
  for (const uint32_t source : segments.indices) ++result.indptr[source + 1];
  std::partial_sum(result.indptr.begin(), result.indptr.end(), result.indptr.begin());

  result.destinations.resize(segments.indices.size());
  if (positions == EdgePositions::kKeep) result.positions.resize(segments.indices.size());
  std::vector<uint32_t> next(result.indptr.begin(), result.indptr.end() - 1);
  for (int64_t row = 0; row < segments.num_rows(); ++row) {
    for (uint32_t e = segments.indptr[static_cast<size_t>(row)]; e < segments.indptr[static_cast<size_t>(row) + 1];
         ++e) {
      const uint32_t slot = next[segments.indices[e]]++;
      result.destinations[slot] = static_cast<uint32_t>(row);
      if (positions == EdgePositions::kKeep) result.positions[slot] = e;
    }
  }
  return result;
}

void SumWonGradients(const Segments& by_source, std::span<const uint32_t> positions, int64_t width, ConstRows gradient,
                     const uint32_t* winners, Rows out) {
  ForSegmentRanges(by_source.indptr, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s) {
      float* __restrict sum = out.data + s * out.stride;
      std::memset(sum, 0, static_cast<size_t>(width) * sizeof(float));
      for (uint32_t k = by_source.indptr[static_cast<size_t>(s)]; k < by_source.indptr[static_cast<size_t>(s) + 1];
           ++k) {
        const uint32_t edge = positions[k];
        const float* __restrict row = gradient.data + by_source.indices[k] * gradient.stride;
        const uint32_t* __restrict winner = winners + int64_t{by_source.indices[k]} * width;
        for (int64_t j = 0; j < width; ++j) sum[j] += winner[j] == edge ? row[j] : 0.0f;
      }
    }
  });
}

}  // namespace espalier::kernels
