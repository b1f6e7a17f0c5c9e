// Tests that every kernel gives the same bits for any number of threads, on a block large enough for several threads.
#include <gtest/gtest.h>
#include <omp.h>

#include <vector>

#include "services/base/philox.h"
#include "services/kernels/attention.h"
#include "services/kernels/row_ranges.h"
#include "services/kernels/segments.h"

namespace espalier::kernels {
namespace {

constexpr int64_t kManyDestinations = 8000, kManySources = 9000;
constexpr HeadShape kWideShape{.heads = 2, .columns = 5};
constexpr float kLeak = 0.2f;

// Returns values whose sums depend on the order.
std::vector<float> RandomValues(int64_t count, uint64_t stream) {
  PhiloxStream random(11, stream);
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(random.NextBelow(1'000'003)) / 333'333 - 1);
  return values;
}

struct LargeBlock {
  LargeBlock() {
    PhiloxStream random(12, 1);
    for (int64_t destination = 0; destination < kManyDestinations; ++destination) {
      for (uint64_t e = random.NextBelow(14); e > 0; --e) {
        indices.push_back(static_cast<uint32_t>(random.NextBelow(kManySources)));
      }
      indptr.push_back(static_cast<uint32_t>(indices.size()));
    }
  }
  int64_t num_edges() const { return static_cast<int64_t>(indices.size()); }

  std::vector<uint32_t> indptr{0}, indices;
};

// Returns the outputs of all kernels.
std::vector<std::vector<float>> AllOutputs(const LargeBlock& block) {
  const Segments segments{block.indptr, block.indices};
  const TransposedSegments transposed = Transpose(segments, kManySources, EdgePositions::kKeep);
  const Segments by_source{transposed.indptr, transposed.destinations};
  const EdgeView edges{segments, by_source, transposed.positions};
  const int64_t width = kWideShape.width(), heads = kWideShape.heads, num_edges = block.num_edges();
  const auto source = RandomValues(kManySources * width, 1), destination = RandomValues(kManyDestinations * width, 2);
  const auto gradient = RandomValues(kManyDestinations * width, 3), of_edges = RandomValues(num_edges * heads, 4);
  const auto attention = RandomValues(width, 5);

  std::vector<std::vector<float>> outputs;
  const auto output = [&outputs](int64_t size) {
    outputs.emplace_back(size);
    return outputs.back().data();
  };
  SumSegments({.segments = segments,
               .width = width,
               .source = {source.data(), width},
               .out = {output(kManyDestinations * width), width}});
  std::vector<uint32_t> winners(kManyDestinations * width);
  MaxSegments(segments, width, {source.data(), width}, {output(kManyDestinations * width), width}, winners.data());
  SumWonGradients(by_source, transposed.positions, width, {gradient.data(), width}, winners.data(),
                  {output(kManySources * width), width});

  AdditiveScores(segments, heads, kLeak, source.data(), destination.data(), output(num_edges * heads));
  float* const slopes = output(num_edges * heads);
  float* const of_source = output(kManySources * heads);
  AdditiveScoreGradients(edges, heads, kLeak, source.data(), destination.data(), of_edges.data(), slopes, of_source,
                         output(kManyDestinations * heads));
  DynamicScores(segments, kWideShape, kLeak, source.data(), destination.data(), attention.data(),
                output(num_edges * heads));
  float* const of_source_rows = output(kManySources * width);
  float* const of_destination_rows = output(kManyDestinations * width);
  DynamicScoreGradients(edges, kWideShape, kLeak, source.data(), destination.data(), attention.data(), of_edges.data(),
                        of_source_rows, of_destination_rows, output(NumChunks(kManyDestinations) * width));
  float* const weights = output(num_edges * heads);
  SoftmaxOverSegments(segments, heads, of_edges.data(), weights);
  SoftmaxOverSegmentsGradient(segments, heads, weights, of_edges.data(), output(num_edges * heads));
  WeightedSums(segments, {}, kWideShape, weights, source.data(), output(kManyDestinations * width));
  EdgeDots(segments, kWideShape, source.data(), destination.data(), output(num_edges * heads));
  float* const of_weights = output(num_edges * heads);
  WeightedSumGradients(edges, kWideShape, weights, source.data(), gradient.data(), of_weights,
                       output(kManySources * width));
  return outputs;
}

TEST(ThreadsTest, EveryNumberOfThreadsGivesTheSameBits) {
  const LargeBlock block;
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const auto alone = AllOutputs(block);
  omp_set_num_threads(5);
  int parts = 0;
#pragma omp parallel
#pragma omp single
  parts = omp_get_num_threads();
  EXPECT_EQ(parts, 5);  // independent of the number of processors
  const auto together = AllOutputs(block);
  omp_set_num_threads(threads);
  ASSERT_EQ(alone.size(), together.size());
  for (size_t i = 0; i < alone.size(); ++i) EXPECT_EQ(alone[i], together[i]) << "output " << i;
}

}  // namespace
}  // namespace espalier::kernels
