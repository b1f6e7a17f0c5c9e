// A draw without replacement selects `count` positions one by one with Floyd's algorithm. Selection i, from 0, takes a
// random position in [0, degree - count + i], or degree - count + i if that position has been selected already. Draws
// of up to 32 positions keep the set of selected positions in AVX2 registers (DrawSmall); larger draws, and draws for
// degrees of 2^31 or more, in a hash set (DrawLarge). Without AVX2, small draws search an array. All variants read the
// same words and return the same positions.
#include "services/sampler/draws/neighbor_draws.h"

#include <bit>

#include "services/base/hash.h"
#include "services/base/philox.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace espalier::sampler {
namespace {

constexpr uint32_t kNoPosition = 0x7FFFFFFF;  // above every position of a small draw

// A position below this limit and an index below 32 fit into 31 bits (SortSmall).
constexpr uint32_t kMaxSmallRowLength = uint32_t{1} << 26;

#ifdef __AVX2__
// Sets ranks[i] to the number of values that are smaller than values[i]. `values` has `count` distinct values;
// `vectors` has the same values, then kNoPosition.
template <int kVectors>
void FindRanks(const __m256i* vectors, const uint32_t* values, uint32_t count, uint32_t* ranks) {
  __m256i rank[kVectors];
  for (int v = 0; v < kVectors; ++v) rank[v] = _mm256_setzero_si256();
  for (uint32_t i = 0; i < count; ++i) {
    const __m256i copies = _mm256_set1_epi32(static_cast<int>(values[i]));
    for (int v = 0; v < kVectors; ++v) rank[v] = _mm256_sub_epi32(rank[v], _mm256_cmpgt_epi32(vectors[v], copies));
  }
  for (int v = 0; v < kVectors; ++v) _mm256_store_si256(reinterpret_cast<__m256i*>(ranks + 8 * v), rank[v]);
}

// Floyd's algorithm for up to 8 * kVectors positions, kept in registers: checking whether a candidate is present takes
// one comparison per register, and the order follows from each element's rank instead of a sort. The only branch that
// depends on random values is the rare duplicate. Degrees must be below 2^31 (signed comparisons).
template <int kVectors>
void DrawSmall(const uint32_t* words, uint32_t degree, uint32_t count, uint32_t* positions) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  __m256i drawn[kVectors];
  for (int v = 0; v < kVectors; ++v) drawn[v] = _mm256_set1_epi32(kNoPosition);
  uint32_t values[8 * kVectors];
  alignas(32) uint32_t ranks[8 * kVectors];
  uint32_t last = degree - count;
  for (uint32_t i = 0; i < count; ++i, ++last) {
    uint32_t value = BoundedDraw(words[i], last + 1);
    __m256i copies = _mm256_set1_epi32(static_cast<int>(value));
    __m256i equal = _mm256_cmpeq_epi32(drawn[0], copies);
    for (int v = 1; v < kVectors; ++v) equal = _mm256_or_si256(equal, _mm256_cmpeq_epi32(drawn[v], copies));
    if (_mm256_testz_si256(equal, equal) == 0) {
      value = last;
      copies = _mm256_set1_epi32(static_cast<int>(value));
    }
    const __m256i here = _mm256_set1_epi32(static_cast<int>(i));
    for (int v = 0; v < kVectors; ++v) {
      const __m256i is_here = _mm256_cmpeq_epi32(_mm256_add_epi32(lane, _mm256_set1_epi32(8 * v)), here);
      drawn[v] = _mm256_blendv_epi8(drawn[v], copies, is_here);
    }
    values[i] = value;
  }
  FindRanks<kVectors>(drawn, values, count, ranks);
  for (uint32_t i = 0; i < count; ++i) positions[ranks[i]] = values[i];
}

// Sorts up to 8 * kVectors positions below kMaxSmallRowLength by rank. Each gets its index as low bits, so that equal
// positions differ.
template <int kVectors>
void SortSmall(uint32_t* positions, uint32_t count) {
  alignas(32) uint32_t values[8 * kVectors], ranks[8 * kVectors];
  for (uint32_t i = 0; i < count; ++i) values[i] = positions[i] << 5 | i;
  std::fill(values + count, values + 8 * kVectors, kNoPosition);
  __m256i vectors[kVectors];
  for (int v = 0; v < kVectors; ++v) vectors[v] = _mm256_load_si256(reinterpret_cast<const __m256i*>(values + 8 * v));
  FindRanks<kVectors>(vectors, values, count, ranks);
  for (uint32_t i = 0; i < count; ++i) positions[ranks[i]] = values[i] >> 5;
}
#else
template <int kVectors>
void SortSmall(uint32_t* positions, uint32_t count) {
  std::sort(positions, positions + count);
}

template <int kVectors>
void DrawSmall(const uint32_t* words, uint32_t degree, uint32_t count, uint32_t* positions) {
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t last = degree - count + i;
    const uint32_t candidate = BoundedDraw(words[i], last + 1);
    const bool taken = std::find(positions, positions + i, candidate) != positions + i;
    positions[i] = taken ? last : candidate;
  }
  std::sort(positions, positions + count);
}
#endif

void DrawLarge(const uint32_t* words, uint32_t degree, uint32_t count, DrawScratch& scratch, uint32_t* positions) {
  scratch.Clear(count);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t last = degree - count + i;
    const uint32_t candidate = BoundedDraw(words[i], last + 1);
    if (scratch.Insert(candidate)) {
      positions[i] = candidate;
    } else {
      scratch.Insert(last);
      positions[i] = last;
    }
  }
  std::sort(positions, positions + count);
}

}  // namespace

void DrawScratch::Clear(uint32_t count) {
  const uint64_t wanted = std::bit_ceil(uint64_t{count} * 2 + 8);
  if (slots_.size() < wanted) slots_.assign(wanted, 0);
  mask_ = slots_.size() - 1;
  // Rounds have 32 bits: after the last one the slots are cleared, so that old values do not reappear.
  if (++round_ > ~0u) {
    std::fill(slots_.begin(), slots_.end(), 0);
    round_ = 1;
  }
}

bool DrawScratch::Insert(uint32_t value) {
  const uint64_t mine = round_ << 32 | value;
  for (uint64_t slot = HashCombine(0, value) & mask_;; slot = (slot + 1) & mask_) {
    if (slots_[slot] == mine) return false;
    if (slots_[slot] >> 32 != round_) {
      slots_[slot] = mine;
      return true;
    }
  }
}

void DrawWithoutReplacement(const uint32_t* words, uint32_t degree, uint32_t count, DrawScratch& scratch,
                            uint32_t* positions) {
  if (degree > kNoPosition || count > 32) return DrawLarge(words, degree, count, scratch, positions);
  if (count <= 8) return DrawSmall<1>(words, degree, count, positions);
  if (count <= 16) return DrawSmall<2>(words, degree, count, positions);
  DrawSmall<4>(words, degree, count, positions);
}

void SortPositions(uint32_t* positions, uint32_t count, uint32_t degree) {
  if (degree > kMaxSmallRowLength || count > 32) {
    std::sort(positions, positions + count);
  } else if (count <= 8) {
    SortSmall<1>(positions, count);
  } else if (count <= 16) {
    SortSmall<2>(positions, count);
  } else {
    SortSmall<4>(positions, count);
  }
}

void DrawWithReplacement(const uint32_t* words, uint32_t degree, uint32_t count, uint32_t* positions) {
  for (uint32_t i = 0; i < count; ++i) positions[i] = BoundedDraw(words[i], degree);
  SortPositions(positions, count, degree);
}

}  // namespace espalier::sampler
