// Loops over rows on torch's threads. Each row's result is its own, so the split never shows in results.
#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdint>
#include <span>

namespace espalier::trainer {

// body(begin, end) over ranges of rows with about equally many edges each.
template <class Body>
void ForSegmentRanges(std::span<const uint32_t> indptr, const Body& body) {
  const auto num_rows = static_cast<int64_t>(indptr.size()) - 1;
  constexpr int64_t kWorthAThread = 4096;  // edges and rows
  const int64_t work = num_rows + indptr[static_cast<size_t>(num_rows)];
  const int64_t parts = std::clamp<int64_t>(work / kWorthAThread, 1, at::get_num_threads());
  // Row i ends at work indptr[i + 1] + i + 1: monotone, so each part's first row is found by bisection.
  const auto first_row_of = [&](int64_t part) {
    const int64_t target = work * part / parts;
    int64_t low = 0, high = num_rows;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (static_cast<int64_t>(indptr[static_cast<size_t>(middle)]) + middle < target) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  };
  at::parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      body(first_row_of(part), part + 1 == parts ? num_rows : first_row_of(part + 1));
    }
  });
}

// body(chunk, begin, end) for chunks of kChunkRows rows: for reductions over rows, whose partial sums must be
// those of fixed chunks.
inline constexpr int64_t kChunkRows = 256;
inline int64_t NumChunks(int64_t num_rows) { return (num_rows + kChunkRows - 1) / kChunkRows; }
template <class Body>
void ForRowChunks(int64_t num_rows, const Body& body) {
  at::parallel_for(0, NumChunks(num_rows), 1, [&](int64_t first, int64_t last) {
    for (int64_t chunk = first; chunk < last; ++chunk) {
      body(chunk, chunk * kChunkRows, std::min(num_rows, (chunk + 1) * kChunkRows));
    }
  });
}

}  // namespace espalier::trainer
