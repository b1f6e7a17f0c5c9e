// Streaming in bounded memory: the same cut from a file as from memory.
#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "services/partition/memory_need.h"
#include "services/partition/partitioner.h"
#include "services/partition/testing/small_graphs.h"

namespace espalier::partition {
namespace {

using testing::CommunityGraph;
using testing::TypedGraph;

// Gives memory in place of a file.
struct FakeScratch {
  uint64_t size_bytes = 0;  // of all that was asked for

  Result<ScratchSpace> Make(uint64_t size) {
    size_bytes += size;
    const auto numbers = std::make_shared<std::vector<uint64_t>>((size + 7) / 8);
    return ScratchSpace{.bytes = std::as_writable_bytes(std::span(*numbers)).first(size), .owner = numbers};
  }
};

class BoundedStreamingTest : public ::testing::Test {
 protected:
  // Cuts the graph without a bound, and in the least memory and `more` bytes; expects the same result.
  void ExpectSame(const graph::SourceGraph& graph, uint64_t more) {
    PartitionOptions options{.num_partitions = 4, .balance = {BalanceConstraint::kEdges}, .seed = 7, .threads = 3};
    const Result<Assignment> unbounded = MakeStreamingPartitioner()->Partition(graph, options);
    options.memory_bytes = LeastStreamingMemory(graph, options) + more;
    options.make_scratch = [this](uint64_t size) { return scratch_.Make(size); };
    const Result<Assignment> bounded = MakeStreamingPartitioner()->Partition(graph, options);
    ASSERT_TRUE(unbounded.ok() && bounded.ok()) << bounded.status().ToString();
    EXPECT_EQ(*bounded, *unbounded);
  }

  FakeScratch scratch_;
};

TEST_F(BoundedStreamingTest, GivesSameCutInLeastMemory) {
  const graph::SourceGraph graph = CommunityGraph(4, 500, 8, 1, /*seed=*/1);
  ExpectSame(graph, 0);
  EXPECT_EQ(scratch_.size_bytes, 8 * graph.edges[0].num_edges());
  ExpectSame(TypedGraph(400, /*seed=*/1), 0);
}

TEST_F(BoundedStreamingTest, NeedsNoFileIfRowsFitIntoMemory) {
  const graph::SourceGraph graph = CommunityGraph(4, 500, 8, 1, /*seed=*/1);
  ExpectSame(graph, 8 * graph.edges[0].num_edges());
  EXPECT_EQ(scratch_.size_bytes, 0u);
}

TEST_F(BoundedStreamingTest, NamesTheLeastMemory) {
  const graph::SourceGraph graph = CommunityGraph(2, 50, 3, 1, /*seed=*/1);
  const Status refused =
      MakeStreamingPartitioner()->Partition(graph, {.num_partitions = 2, .memory_bytes = 1000}).status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(refused.message(), "Streaming needs at least " +
                                   std::to_string(LeastStreamingMemory(graph, {.num_partitions = 2})) +
                                   " bytes of memory for this graph, found 1000: give it more memory");
}

}  // namespace
}  // namespace espalier::partition
