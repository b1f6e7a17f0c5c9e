// Parallel loops over rows on OpenMP threads.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <span>

namespace espalier::kernels {

// Returns the number of threads that a loop may use; 1 within a parallel region.
inline int NumThreads() { return omp_in_parallel() != 0 ? 1 : omp_get_max_threads(); }

// Calls body(part) for each part of [0, parts); each thread gets contiguous parts. `body` must not throw.
template <class Body>
void ForParts(int64_t parts, const Body& body) {
  const int threads = static_cast<int>(std::min<int64_t>(parts, NumThreads()));
  if (threads <= 1) {
    for (int64_t part = 0; part < parts; ++part) body(part);
    return;
  }
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t part = 0; part < parts; ++part) body(part);
}

// Calls body(begin, end) on ranges of rows; row i has indptr[i + 1] - indptr[i] edges. The sum of rows and edges is
// about the same in each range. A range may be empty. The ranges depend on the number of threads, so the result of a
// row must not depend on the other rows of its range.
template <class Body>
void ForSegmentRanges(std::span<const uint32_t> indptr, const Body& body) {
  const auto num_rows = static_cast<int64_t>(indptr.size()) - 1;
  constexpr int64_t kMinWorkPerThread = 4096;  // sum of edges and rows
  const int64_t work = num_rows + indptr[static_cast<size_t>(num_rows)];
  const int64_t parts = std::clamp<int64_t>(work / kMinWorkPerThread, 1, NumThreads());
  // indptr[i] + i is the work of the rows before row i. It grows with i, so bisection finds a part's first row.
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
  ForParts(parts,
           [&](int64_t part) { body(first_row_of(part), part + 1 == parts ? num_rows : first_row_of(part + 1)); });
}

// ForRowChunks calls body(chunk, begin, end) on chunks of kChunkRows rows. Reductions over rows use it, so that their
// partial sums do not depend on the number of threads.
inline constexpr int64_t kChunkRows = 256;
inline int64_t NumChunks(int64_t num_rows) { return (num_rows + kChunkRows - 1) / kChunkRows; }
template <class Body>
void ForRowChunks(int64_t num_rows, const Body& body) {
  ForParts(NumChunks(num_rows),
           [&](int64_t chunk) { body(chunk, chunk * kChunkRows, std::min(num_rows, (chunk + 1) * kChunkRows)); });
}

}  // namespace espalier::kernels
