#include "services/kernels/dropout_half_words.h"

#include "services/base/philox.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace espalier::kernels {
namespace {

#ifdef __AVX2__

// Four Philox blocks at once, one per 64-bit lane. Only the low halves of the lanes are significant. The multiplication
// reads only the low halves, so the high halves need not be cleared.
struct FourBlocks {
  __m256i c0, c1, c2, c3;
};

// Computes Philox4x32(key, block, original_id) for the blocks first_block to first_block + 3.
FourBlocks ComputeFourBlocks(uint64_t key, uint64_t first_block, uint64_t original_id) {
  const auto block = static_cast<long long>(first_block);
  // Block numbers stay far below 2^32 (columns / 8), so counter word 1 is zero.
  FourBlocks x{_mm256_setr_epi64x(block, block + 1, block + 2, block + 3), _mm256_setzero_si256(),
               _mm256_set1_epi64x(static_cast<long long>(original_id & 0xFFFFFFFFu)),
               _mm256_set1_epi64x(static_cast<long long>(original_id >> 32))};
  const __m256i m0 = _mm256_set1_epi64x(0xD2511F53), m1 = _mm256_set1_epi64x(0xCD9E8D57);
  auto k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const __m256i p0 = _mm256_mul_epu32(x.c0, m0), p1 = _mm256_mul_epu32(x.c2, m1);
    x.c0 = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p1, 32), x.c1), _mm256_set1_epi64x(k0));
    x.c1 = p1;
    x.c2 = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p0, 32), x.c3), _mm256_set1_epi64x(k1));
    x.c3 = p0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return x;
}

// Writes the 32 half-words of the blocks in order.
void WriteFourBlocks(const FourBlocks& x, uint16_t* out) {
  const __m256i low = _mm256_set1_epi64x(0xFFFFFFFF);
  const __m256i words01 = _mm256_or_si256(_mm256_and_si256(x.c0, low), _mm256_slli_epi64(x.c1, 32));
  const __m256i words23 = _mm256_or_si256(_mm256_and_si256(x.c2, low), _mm256_slli_epi64(x.c3, 32));
  const __m256i blocks02 = _mm256_unpacklo_epi64(words01, words23), blocks13 = _mm256_unpackhi_epi64(words01, words23);
  auto* to = reinterpret_cast<__m256i*>(out);
  _mm256_storeu_si256(to, _mm256_permute2x128_si256(blocks02, blocks13, 0x20));
  _mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(blocks02, blocks13, 0x31));
}

#endif

}  // namespace

void FillDropoutHalfWords(uint64_t key, uint64_t original_id, int64_t width, uint16_t* half_words) {
  for (int64_t column = 0; column < width; column += kDropoutColumnsAtOnce) {
    const auto first_block = static_cast<uint64_t>(column / 8);
#ifdef __AVX2__
    WriteFourBlocks(ComputeFourBlocks(key, first_block, original_id), half_words + column);
#else
    for (uint64_t block = 0; block < 4; ++block) {
      const auto words = Philox4x32(key, first_block + block, original_id);
      for (int word = 0; word < 4; ++word) {
        uint16_t* to = half_words + column + static_cast<int64_t>(block) * 8 + word * 2;
        to[0] = static_cast<uint16_t>(words[static_cast<size_t>(word)]);
        to[1] = static_cast<uint16_t>(words[static_cast<size_t>(word)] >> 16);
      }
    }
#endif
  }
}

}  // namespace espalier::kernels
