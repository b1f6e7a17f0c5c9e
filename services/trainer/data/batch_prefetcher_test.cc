#include "services/trainer/data/batch_prefetcher.h"

#include <gtest/gtest.h>

#include "services/base/check.h"
#include "services/base/mutex.h"
#include "services/base/testing/call_count.h"
#include "services/graph/generators.h"
#include "services/sampler/batches/local_mini_batch_source.h"
#include "services/shard/testing/test_graph.h"
#include "services/trainer/data/sampling_plan.h"
#include "services/trainer/epoch_plan.h"
#include "services/trainer/testing/community.h"

namespace espalier::trainer {
namespace {

// Counts the reads of labels, which are the last rows of a mini-batch to be read.
class RowsWithCountedLabels final : public sampler::RowSource {
 public:
  explicit RowsWithCountedLabels(sampler::RowSource& rows) : rows_(rows) {}

  CallCount& labels_read() { return labels_read_; }

  const std::vector<sampler::ColumnDescription>& columns() const override { return rows_.columns(); }
  Result<Tensor> GatherRows(NodeTypeId type, const std::string& column, std::span<const GlobalNodeId> nodes,
                            Deadline deadline) override {
    Result<Tensor> rows = rows_.GatherRows(type, column, nodes, deadline);
    if (column == graph::kLabelColumn) labels_read_.Increment();
    return rows;
  }

 private:
  sampler::RowSource& rows_;
  CallCount labels_read_;
};

class BatchPrefetcherTest : public ::testing::Test {
 protected:
  BatchPrefetcherTest() { ESPALIER_CHECK(data_.SetOutputs(3).ok()); }

  const shard::testing::TestGraph opened_ = shard::testing::MakeTestGraph(CommunityGraph(), 2, 11);
  sampler::PartitionedGraph& graph_ = *opened_.graph;
  const graph::GraphSchema& schema_ = graph_.book().schema();
  const job::Training training_ = CommunityJob().training;
  RowsWithCountedLabels rows_{graph_};
  NodeData data_ = *NodeData::Make(training_, schema_, rows_);
  sampler::LocalMiniBatchSource source_{graph_,
                                        graph_,
                                        *MakeSamplingSpec(training_.sampling, schema_, training_.seed),
                                        *MakeEpochPlan(training_, schema_, 1, Rank(0)),
                                        {}};
};

// Blocks in Next until Cancel is called.
class EndlessSource final : public sampler::MiniBatchSource {
 public:
  CallCount& asked() { return asked_; }

  Status StartEpoch(uint32_t, uint32_t) override { return Status(); }
  Result<sampler::MiniBatch> Next(Deadline deadline) override {
    asked_.Increment();
    MutexLock lock(&mutex_);
    if (!mutex_.AwaitBefore(deadline, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return is_cancelled_; }))
      return DeadlineExceeded("nobody cancelled");
    return Cancelled("nobody waits");
  }
  void Cancel() override {
    MutexLock lock(&mutex_);
    is_cancelled_ = true;
  }

 private:
  CallCount asked_;
  Mutex mutex_;
  bool is_cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

// Otherwise a trainer whose group has failed would wait until the timeout of a server that has failed too.
TEST_F(BatchPrefetcherTest, DoesNotWaitForABatchThatNobodyNeeds) {
  EndlessSource source;
  {
    BatchPrefetcher prefetcher(source, data_, {.num_epochs = 2, .steps_per_epoch = 2, .batches_ahead = 2});
    EXPECT_TRUE(source.asked().Reaches(1));
  }
  EXPECT_EQ(source.asked().value(), 1);
}

// Without any call of Next, two mini-batches are queued. A third one, of the next epoch, has been fetched and waits for
// room in the queue.
TEST_F(BatchPrefetcherTest, HasBatchesWithTheirRowsBeforeAnybodyAsks) {
  BatchPrefetcher prefetcher(source_, data_, {.num_epochs = 2, .steps_per_epoch = 2, .batches_ahead = 2});

  EXPECT_TRUE(rows_.labels_read().Reaches(3));
  EXPECT_EQ(rows_.labels_read().value(), 3);
  for (const uint32_t epoch : {0u, 1u}) {
    for (const uint32_t step : {0u, 1u}) {
      const Result<BatchTensors> batch = prefetcher.Next(Soon());
      ASSERT_TRUE(batch.ok()) << batch.status().ToString();
      EXPECT_EQ(batch->batch.epoch, epoch);
      EXPECT_EQ(batch->batch.step, step);
    }
  }
  EXPECT_EQ(prefetcher.Next(Soon()).status().code(), StatusCode::kOutOfRange);
}

TEST_F(BatchPrefetcherTest, OfLargeBatchesOneIsAhead) {
  BatchPrefetcher prefetcher(source_, data_, {.num_epochs = 2, .steps_per_epoch = 2, .large_batch_bytes = 1});
  for (int taken = 1; taken <= 4; ++taken) {
    EXPECT_TRUE(rows_.labels_read().Reaches(taken));
    EXPECT_LE(rows_.labels_read().value(), taken);
    const Result<BatchTensors> batch = prefetcher.Next(Soon());
    ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  }
  EXPECT_EQ(prefetcher.Next(Soon()).status().code(), StatusCode::kOutOfRange);
}

}  // namespace
}  // namespace espalier::trainer
