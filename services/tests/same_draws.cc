// Prints a digest of many draws for each kernel of services/sampler/draws and for dropout. The lines must be the same
// on every processor: same_draws_test.py compiles this file for several processors and compares the lines with
// same_draws.txt.
#include <cinttypes>
#include <cstdio>
#include <numeric>
#include <vector>

#include "services/base/check.h"
#include "services/base/hash.h"
#include "services/kernels/dropout_half_words.h"
#include "services/sampler/draws/draw_words.h"
#include "services/sampler/draws/labor_draws.h"
#include "services/sampler/draws/neighbor_draws.h"
#include "services/sampler/draws/weighted_draws.h"

namespace espalier::sampler {
namespace {

constexpr uint64_t kKey = 0x5eed;
constexpr uint64_t kRows = 16;
constexpr uint32_t kDegrees[] = {2, 9, 17, 33, 64, 129, 1000, 20'000};
constexpr uint32_t kCounts[] = {1, 5, 8, 15, 16, 25, 32, 100};

class Digest {
 public:
  template <class T>
  void Add(const std::vector<T>& values) {
    hash_ = HashCombine(hash_, values.size());
    for (const T value : values) hash_ = HashCombine(hash_, value);
  }
  void Print(const char* what) const { std::printf("%-28s %016" PRIx64 "\n", what, hash_); }

 private:
  uint64_t hash_ = 0;
};

std::vector<uint32_t> Words(uint64_t id, uint32_t count) {
  std::vector<uint32_t> words(size_t{4} * NumDrawBlocks(count));
  FillDrawWords(kKey, std::span(&id, 1), NumDrawBlocks(count), words.data());
  return words;
}

// Prints the digest of draw(row, degree, count) over all kDegrees, all kCounts below the degree, and kRows rows.
template <class Draw>
void PrintDraws(const char* what, const Draw& draw) {
  Digest digest;
  for (const uint32_t degree : kDegrees) {
    for (const uint32_t count : kCounts) {
      if (count >= degree) continue;
      for (uint64_t row = 0; row < kRows; ++row) digest.Add(draw(row, degree, count));
    }
  }
  digest.Print(what);
}

// Returns the weights of a row: values of many magnitudes, and some zeros.
template <class T>
std::vector<T> Weights(uint64_t row, uint32_t degree) {
  std::vector<T> weights(degree);
  for (uint32_t i = 0; i < degree; ++i) {
    const uint32_t word = DrawWord(kKey + 1, row, i);
    weights[i] = word % 7 == 0 ? T{0} : static_cast<T>(word % 1000 + 1) / static_cast<T>(1 + word / 1000 % 30);
  }
  return weights;
}

template <class T>
std::vector<uint32_t> PrefixSums(uint64_t row, uint32_t degree) {
  std::vector<uint32_t> sums(degree);
  const Status status = QuantizeRow(Tensor::FromVector(Weights<T>(row, degree)), 0, degree, sums.data());
  ESPALIER_CHECK(status.ok()) << status.ToString();
  return sums;
}

void PrintUniform() {
  PrintDraws("uniform", [](uint64_t row, uint32_t degree, uint32_t count) {
    DrawScratch scratch;
    std::vector<uint32_t> positions(count);
    DrawWithoutReplacement(Words(row, count).data(), degree, count, scratch, positions.data());
    return positions;
  });
  PrintDraws("uniform, with replacement", [](uint64_t row, uint32_t degree, uint32_t count) {
    std::vector<uint32_t> positions(count);
    DrawWithReplacement(Words(row, count).data(), degree, count, positions.data());
    return positions;
  });
}

void PrintWeighted() {
  PrintDraws("weights of 32 bits",
             [](uint64_t row, uint32_t degree, uint32_t) { return PrefixSums<float>(row, degree); });
  PrintDraws("weights of 64 bits",
             [](uint64_t row, uint32_t degree, uint32_t) { return PrefixSums<double>(row, degree); });
  PrintDraws("weighted", [](uint64_t row, uint32_t degree, uint32_t count) {
    std::vector<uint32_t> positions(degree);
    positions.resize(DrawWeightedWithoutReplacement(kKey, row, Words(row, count).data(), PrefixSums<float>(row, degree),
                                                    count, positions.data()));
    return positions;
  });
  PrintDraws("weighted, with replacement", [](uint64_t row, uint32_t degree, uint32_t count) {
    const std::vector<uint32_t> sums = PrefixSums<float>(row, degree);
    std::vector<uint32_t> positions(sums.back() == 0 ? 0 : count);
    if (!positions.empty()) DrawWeightedWithReplacement(Words(row, count).data(), sums, count, positions.data());
    return positions;
  });
}

std::vector<uint32_t> DrawLabor(uint64_t row, uint32_t degree, uint32_t count, std::span<const uint32_t> sums) {
  LaborDraws draws(kKey);
  std::vector<uint32_t> positions(count);
  const auto fill = [row](uint32_t first, std::span<uint64_t> ids) {
    std::iota(ids.begin(), ids.end(), row * 1000 + first);
  };
  positions.resize(draws.Draw(degree, fill, sums, count, positions.data()));
  return positions;
}

void PrintLabor() {
  PrintDraws("LABOR", [](uint64_t row, uint32_t degree, uint32_t count) { return DrawLabor(row, degree, count, {}); });
  PrintDraws("LABOR, weighted", [](uint64_t row, uint32_t degree, uint32_t count) {
    return DrawLabor(row, degree, count, PrefixSums<float>(row, degree));
  });
}

void PrintDropout() {
  Digest digest;
  for (uint64_t row = 0; row < kRows; ++row) {
    std::vector<uint16_t> half_words(96);
    kernels::FillDropoutHalfWords(kKey, row, 96, half_words.data());
    digest.Add(half_words);
  }
  digest.Print("dropout");
}

}  // namespace
}  // namespace espalier::sampler

int main() {
  espalier::sampler::PrintUniform();
  espalier::sampler::PrintWeighted();
  espalier::sampler::PrintLabor();
  espalier::sampler::PrintDropout();
}
