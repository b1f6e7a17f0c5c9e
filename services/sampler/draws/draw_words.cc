#include "services/sampler/draws/draw_words.h"

#include <cstring>

#include "services/base/philox.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace espalier::sampler {
namespace {

#ifdef __AVX2__
constexpr size_t kLanes = 8;

// Computes Philox4x32-10 of eight counters. Each 64-bit lane holds one 32-bit word of one block in its low half, which
// is all that the widening multiply reads. Two vectors are processed together to hide the latency of the multiply.
void ComputeEightBlocks(uint64_t key, const uint64_t* counter_low, const uint64_t* counter_high, uint32_t* words) {
  const __m256i m0 = _mm256_set1_epi64x(0xD2511F53), m1 = _mm256_set1_epi64x(0xCD9E8D57);
  __m256i c0[2], c1[2], c2[2], c3[2];
  for (int v = 0; v < 2; ++v) {
    c0[v] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(counter_low + 4 * v));
    c1[v] = _mm256_srli_epi64(c0[v], 32);
    c2[v] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(counter_high + 4 * v));
    c3[v] = _mm256_srli_epi64(c2[v], 32);
  }
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const __m256i key0 = _mm256_set1_epi64x(k0), key1 = _mm256_set1_epi64x(k1);
    for (int v = 0; v < 2; ++v) {
      const __m256i p0 = _mm256_mul_epu32(m0, c0[v]), p1 = _mm256_mul_epu32(m1, c2[v]);
      c0[v] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p1, 32), c1[v]), key0);
      c2[v] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p0, 32), c3[v]), key1);
      c1[v] = p1;
      c3[v] = p0;
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  for (int v = 0; v < 2; ++v) {
    const __m256i low = _mm256_blend_epi32(c0[v], _mm256_slli_epi64(c1[v], 32), 0xAA);
    const __m256i high = _mm256_blend_epi32(c2[v], _mm256_slli_epi64(c3[v], 32), 0xAA);
    const __m256i even = _mm256_unpacklo_epi64(low, high), odd = _mm256_unpackhi_epi64(low, high);
    auto* out = reinterpret_cast<__m256i*>(words + 16 * v);
    _mm256_storeu_si256(out, _mm256_permute2x128_si256(even, odd, 0x20));
    _mm256_storeu_si256(out + 1, _mm256_permute2x128_si256(even, odd, 0x31));
  }
}
#endif

void ComputeBlock(uint64_t key, uint64_t counter_low, uint64_t counter_high, uint32_t* words) {
  const std::array<uint32_t, 4> block = Philox4x32(key, counter_low, counter_high);
  std::memcpy(words, block.data(), sizeof(block));
}

}  // namespace

void FillDrawWords(uint64_t key, std::span<const uint64_t> streams, uint32_t blocks_per_stream, uint32_t* words) {
#ifdef __AVX2__
  uint64_t low[kLanes], high[kLanes];
  size_t lanes = 0;
  for (const uint64_t stream : streams) {
    for (uint32_t block = 0; block < blocks_per_stream; ++block) {
      low[lanes] = block;
      high[lanes] = stream;
      if (++lanes < kLanes) continue;
      ComputeEightBlocks(key, low, high, words);
      words += 4 * kLanes;
      lanes = 0;
    }
  }
  for (size_t i = 0; i < lanes; ++i) ComputeBlock(key, low[i], high[i], words + 4 * i);
#else
  for (const uint64_t stream : streams) {
    for (uint32_t block = 0; block < blocks_per_stream; ++block, words += 4) ComputeBlock(key, block, stream, words);
  }
#endif
}

uint32_t DrawWord(uint64_t key, uint64_t stream, uint64_t index) {
  return Philox4x32(key, index / 4, stream)[index % 4];
}

}  // namespace espalier::sampler
