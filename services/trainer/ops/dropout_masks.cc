// Torch does not support unsigned arithmetic on every device, so a 32-bit word of Philox is an i64 in [0, 2^32). The
// product of two words may overflow i64; its two 32-bit halves are still right, because multiplication modulo 2^64 is
// the same for signed and unsigned numbers, and HighWord clears the sign bits that the right shift inserts.
#include "services/trainer/ops/dropout_masks.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "services/base/hash.h"

namespace espalier::trainer {
namespace {

constexpr int64_t kLowWord = 0xFFFFFFFF;
constexpr int64_t kHalfWordsPerBlock = 8;

torch::Tensor LowWord(const torch::Tensor& x) { return x.bitwise_and(kLowWord); }
torch::Tensor HighWord(const torch::Tensor& x) { return x.bitwise_right_shift(32).bitwise_and_(kLowWord); }

// Returns the half-words of Philox4x32(key, low, high), the low half of each word first: i64 [..., 8]. low, high: i64;
// their shapes are broadcast to [...].
torch::Tensor PhiloxHalfWords(uint64_t key, const torch::Tensor& low, const torch::Tensor& high) {
  const std::vector<torch::Tensor> counters = torch::broadcast_tensors({low, high});
  torch::Tensor c0 = LowWord(counters[0]), c1 = HighWord(counters[0]);
  torch::Tensor c2 = LowWord(counters[1]), c3 = HighWord(counters[1]);
  auto k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const torch::Tensor p0 = c0 * int64_t{0xD2511F53}, p1 = c2 * int64_t{0xCD9E8D57};
    c0 = HighWord(p1).bitwise_xor_(c1).bitwise_xor_(int64_t{k0});
    c1 = LowWord(p1);
    c2 = HighWord(p0).bitwise_xor_(c3).bitwise_xor_(int64_t{k1});
    c3 = LowWord(p0);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  const torch::Tensor words = torch::stack({c0, c1, c2, c3}, -1);
  return torch::stack({words.bitwise_and(0xFFFF), words.bitwise_right_shift(16)}, -1).flatten(-2);
}

}  // namespace

torch::Tensor MakeKeepMask(uint64_t key, const torch::Tensor& original_ids, int64_t columns, int32_t threshold) {
  const int64_t num_blocks = (columns + kHalfWordsPerBlock - 1) / kHalfWordsPerBlock;
  const torch::Tensor blocks = torch::arange(num_blocks, original_ids.options());
  const torch::Tensor half_words = PhiloxHalfWords(key, blocks.unsqueeze(0), original_ids.unsqueeze(1));
  return half_words.flatten(1).narrow(1, 0, columns).ge(int64_t{threshold});
}

torch::Tensor MakeEdgeKeepMask(uint64_t key, const torch::Tensor& source_ids, const torch::Tensor& destination_ids,
                               int64_t heads, int32_t threshold) {
  std::vector<torch::Tensor> parts;
  for (int64_t first = 0; first < heads; first += kHalfWordsPerBlock) {
    const uint64_t key_of_heads = HashCombine(key, static_cast<uint64_t>(first / kHalfWordsPerBlock));
    parts.push_back(PhiloxHalfWords(key_of_heads, source_ids, destination_ids));
  }
  return torch::cat(parts, 1).narrow(1, 0, heads).ge(int64_t{threshold});
}

}  // namespace espalier::trainer
