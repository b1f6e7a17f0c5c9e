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
class LabelCountingRows final : public sampler::RowSource {
 public:
  explicit LabelCountingRows(sampler::RowSource& rows) : rows_(rows) {}

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

// Forwards all reads as if every partition were on another machine.
class RemoteRows final : public sampler::RowSource {
 public:
  explicit RemoteRows(sampler::RowSource& rows) : rows_(rows) {}
  const std::vector<sampler::ColumnDescription>& columns() const override { return rows_.columns(); }
  Result<Tensor> GatherRows(NodeTypeId type, const std::string& column, std::span<const GlobalNodeId> nodes,
                            Deadline deadline) override {
    return rows_.GatherRows(type, column, nodes, deadline);
  }
  bool is_remote(PartitionId) const override { return true; }

 private:
  sampler::RowSource& rows_;
};

// Returns the first mini-batches of another source and then an error.
class FailingSource final : public sampler::MiniBatchSource {
 public:
  FailingSource(sampler::MiniBatchSource& source, uint32_t num_batches) : source_(source), num_batches_(num_batches) {}
  Status StartEpoch(uint32_t epoch, uint32_t first_step) override { return source_.StartEpoch(epoch, first_step); }
  Result<sampler::MiniBatch> Next(Deadline deadline) override {
    if (num_taken_++ == num_batches_) return Unavailable("partition 1: connection refused");
    return source_.Next(deadline);
  }
  void Cancel() override { source_.Cancel(); }

 private:
  sampler::MiniBatchSource& source_;
  const uint32_t num_batches_;
  uint32_t num_taken_ = 0;
};

class BatchPrefetcherTest : public ::testing::Test {
 protected:
  BatchPrefetcherTest() { ESPALIER_CHECK(data_.SetOutputs(3).ok()); }

  const shard::testing::TestGraph opened_ = shard::testing::MakeTestGraph(CommunityGraph(), 2, 11);
  sampler::PartitionedGraph& graph_ = *opened_.graph;
  const graph::GraphSchema& schema_ = graph_.book().schema();
  const job::Training training_ = CommunityJob().training;
  LabelCountingRows rows_{graph_};
  RemoteRows remote_rows_{rows_};
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
      return DeadlineExceeded("not canceled");
    return Cancelled("the caller stopped waiting");
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

// Returns the first mini-batches of another source, then blocks in Next until Cancel is called.
class StallingSource final : public sampler::MiniBatchSource {
 public:
  StallingSource(sampler::MiniBatchSource& source, int num_batches) : source_(source), num_batches_(num_batches) {}
  CallCount& stalled() { return endless_.asked(); }

  Status StartEpoch(uint32_t epoch, uint32_t first_step) override { return source_.StartEpoch(epoch, first_step); }
  Result<sampler::MiniBatch> Next(Deadline deadline) override {
    return num_taken_++ < num_batches_ ? source_.Next(deadline) : endless_.Next(deadline);
  }
  void Cancel() override {
    source_.Cancel();
    endless_.Cancel();
  }

 private:
  sampler::MiniBatchSource& source_;
  EndlessSource endless_;
  const int num_batches_;
  int num_taken_ = 0;
};

// Returns mini-batches of links without nodes, of which each takes kBatchBytes.
class LinksSource final : public sampler::MiniBatchSource {
 public:
  static constexpr uint64_t kBatchBytes = 1000;
  CallCount& sampled() { return sampled_; }

  Status StartEpoch(uint32_t epoch, uint32_t first_step) override {
    epoch_ = epoch;
    step_ = first_step;
    return Status();
  }
  Result<sampler::MiniBatch> Next(Deadline) override {
    sampler::MiniBatch batch;
    batch.epoch = epoch_;
    batch.step = step_++;
    batch.nodes.resize(1);
    batch.layers.push_back({{}, {0}, {0}});
    batch.links.emplace().negative_weights.resize(kBatchBytes);
    sampled_.Increment();
    return batch;
  }
  void Cancel() override {}

 private:
  CallCount sampled_;
  uint32_t epoch_ = 0, step_ = 0;
};

// If the prefetcher waited, a trainer whose group has failed would wait until the timeout of a server that has failed
// too.
TEST_F(BatchPrefetcherTest, DoesNotWaitForUnneededBatch) {
  EndlessSource source;
  {
    BatchPrefetcher prefetcher(source, data_, {.num_epochs = 2, .steps_per_epoch = 2, .batches_ahead = 2});
    EXPECT_TRUE(source.asked().Reaches(1));
  }
  EXPECT_EQ(source.asked().value(), 1);
}

// Without any call of Next, two mini-batches are queued. A third one, of the next epoch, has been fetched and waits for
// room in the queue.
TEST_F(BatchPrefetcherTest, PrefetchesBatchesWithRows) {
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

TEST_F(BatchPrefetcherTest, PrefetchesOneLargeBatch) {
  BatchPrefetcher prefetcher(source_, data_, {.num_epochs = 2, .steps_per_epoch = 2, .large_batch_bytes = 1});
  for (int taken = 1; taken <= 4; ++taken) {
    EXPECT_TRUE(rows_.labels_read().Reaches(taken));
    EXPECT_LE(rows_.labels_read().value(), taken);
    const Result<BatchTensors> batch = prefetcher.Next(Soon());
    ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  }
  EXPECT_EQ(prefetcher.Next(Soon()).status().code(), StatusCode::kOutOfRange);
}

class PrefetcherWithCacheTest : public BatchPrefetcherTest {
 protected:
  static constexpr uint64_t kPlenty = 1 << 20;

  PrefetchOptions WithCache(sampler::ScheduledRowCache& cache, PrefetchOptions options, uint32_t steps) {
    options.cache = {.rows = &cache, .steps = steps, .max_waiting_bytes = kPlenty, .metrics = {}};
    return options;
  }
  sampler::ScheduledRowCache MakeCache(uint64_t memory_bytes) {
    return sampler::ScheduledRowCache(remote_rows_, graph_.book(), data_.BatchColumns(), memory_bytes);
  }
};

// Reads from a step in the middle of an epoch, over the ends of epochs, with more memory than the rows need and with
// less.
TEST_F(PrefetcherWithCacheTest, ReadsTheSameRows) {
  const PrefetchOptions options = {.first_epoch = 1, .first_step = 1, .num_epochs = 3, .steps_per_epoch = 2};
  for (const uint64_t memory_bytes : {uint64_t{1}, uint64_t{60'000}, kPlenty}) {
    for (const uint32_t steps : {1u, 3u, 100u}) {
      sampler::ScheduledRowCache cache = MakeCache(memory_bytes);
      sampler::LocalMiniBatchSource other_source{graph_,
                                                 graph_,
                                                 *MakeSamplingSpec(training_.sampling, schema_, training_.seed),
                                                 *MakeEpochPlan(training_, schema_, 1, Rank(0)),
                                                 {}};
      {
        BatchPrefetcher plain(source_, data_, options);
        BatchPrefetcher cached(other_source, data_, WithCache(cache, options, steps));
        for (int i = 0; i < 5; ++i) {
          const Result<BatchTensors> expected = plain.Next(Soon()), batch = cached.Next(Soon());
          ASSERT_TRUE(expected.ok()) << expected.status().ToString();
          ASSERT_TRUE(batch.ok()) << batch.status().ToString();
          EXPECT_EQ(batch->batch.epoch, expected->batch.epoch);
          EXPECT_EQ(batch->batch.step, expected->batch.step);
          EXPECT_TRUE(torch::equal(batch->features[0], expected->features[0]));
          EXPECT_TRUE(torch::equal(batch->original_ids[0], expected->original_ids[0]));
          EXPECT_TRUE(torch::equal(batch->labels, expected->labels));
        }
        EXPECT_EQ(cached.Next(Soon()).status().code(), StatusCode::kOutOfRange);
      }
      EXPECT_GT(cache.counts().fetched_rows, 0u);
      EXPECT_EQ(cache.counts().hit_rows > 0, memory_bytes > 1);
      // With room for all rows, each is fetched once.
      if (memory_bytes == kPlenty) {
        EXPECT_EQ(cache.counts().fetched_rows, cache.num_cached_rows());
      }
    }
  }
}

// Slots for all nodes and for some, with a cache in host memory and without.
TEST_F(PrefetcherWithCacheTest, ReadsTheSameRowsWithRowsOnTheDevice) {
  const PrefetchOptions options = {.first_epoch = 1, .first_step = 1, .num_epochs = 3, .steps_per_epoch = 2};
  for (const bool has_cache : {false, true}) {
    for (const uint64_t device_bytes : {uint64_t{4'000}, kPlenty}) {
      sampler::ScheduledRowCache cache = MakeCache(kPlenty);
      const Result<std::unique_ptr<DeviceRows>> device =
          DeviceRows::Make(device_bytes, graph_.book(), data_, torch::kCPU);
      ASSERT_TRUE(device.ok()) << device.status().ToString();
      sampler::LocalMiniBatchSource other_source{graph_,
                                                 graph_,
                                                 *MakeSamplingSpec(training_.sampling, schema_, training_.seed),
                                                 *MakeEpochPlan(training_, schema_, 1, Rank(0)),
                                                 {}};
      PrefetchOptions on_device = WithCache(cache, options, 3);
      if (!has_cache) on_device.cache.rows = nullptr;
      on_device.cache.device = device->get();
      {
        BatchPrefetcher plain(source_, data_, options);
        BatchPrefetcher cached(other_source, data_, on_device);
        for (int i = 0; i < 5; ++i) {
          const Result<BatchTensors> expected = plain.Next(Soon()), batch = cached.Next(Soon());
          ASSERT_TRUE(expected.ok()) << expected.status().ToString();
          ASSERT_TRUE(batch.ok()) << batch.status().ToString();
          EXPECT_FALSE(batch->plan.has_value());
          EXPECT_TRUE(torch::equal(batch->features[0], expected->features[0]));
          EXPECT_TRUE(torch::equal(batch->original_ids[0], expected->original_ids[0]));
          EXPECT_TRUE(torch::equal(batch->labels, expected->labels));
        }
        EXPECT_EQ(cached.Next(Soon()).status().code(), StatusCode::kOutOfRange);
      }
      const sampler::SlotCounts& counts = (*device)->slots().counts();
      EXPECT_GT(counts.hit_rows, 0u);
      EXPECT_EQ(counts.hit_bytes, counts.hit_rows * 16 * sizeof(float));
      // The host reads only the rows that the device lacks.
      if (has_cache) {
        EXPECT_EQ(cache.counts().hit_rows + cache.counts().fetched_rows, counts.missed_rows);
      }
    }
  }
}

TEST_F(PrefetcherWithCacheTest, ReturnsSampledBatchesBeforeError) {
  FailingSource source(source_, 1);
  sampler::ScheduledRowCache cache = MakeCache(kPlenty);
  BatchPrefetcher prefetcher(source, data_, WithCache(cache, {.num_epochs = 1, .steps_per_epoch = 2}, 8));
  const Result<BatchTensors> batch = prefetcher.Next(Soon());
  ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  EXPECT_EQ(batch->batch.step, 0u);
  for (int time = 0; time < 2; ++time) {
    EXPECT_EQ(prefetcher.Next(Soon()).status(),
              Unavailable("mini-batch of epoch 0, step 1: partition 1: connection refused"));
  }
}

TEST_F(PrefetcherWithCacheTest, DoesNotWaitForUnneededBatch) {
  EndlessSource source;
  sampler::ScheduledRowCache cache = MakeCache(kPlenty);
  {
    BatchPrefetcher prefetcher(source, data_, WithCache(cache, {.num_epochs = 2, .steps_per_epoch = 2}, 8));
    EXPECT_TRUE(source.asked().Reaches(1));
  }
  EXPECT_EQ(source.asked().value(), 1);
}

// Without any call of Next, two mini-batches are queued and a third one waits for room in the queue. Of the others, as
// many wait for their rows as fit in the memory.
TEST_F(PrefetcherWithCacheTest, SampledBatchesStayWithinMemoryLimit) {
  for (const int num_waiting : {1, 2}) {
    LinksSource source;
    sampler::ScheduledRowCache cache = MakeCache(kPlenty);
    PrefetchOptions options = WithCache(cache, {.num_epochs = 1, .steps_per_epoch = 9}, 8);
    options.cache.max_waiting_bytes = num_waiting * LinksSource::kBatchBytes + LinksSource::kBatchBytes / 2;
    const int labels_read = rows_.labels_read().value();
    BatchPrefetcher prefetcher(source, data_, options);
    EXPECT_TRUE(rows_.labels_read().Reaches(labels_read + 3));
    EXPECT_EQ(source.sampled().value(), num_waiting + 2);
  }
}

// If it read them, the prefetcher's destructor could wait for graph servers that have failed.
TEST_F(PrefetcherWithCacheTest, DoesNotReadRowsOfUnneededBatch) {
  StallingSource source(source_, 2);
  sampler::ScheduledRowCache cache = MakeCache(kPlenty);
  {
    BatchPrefetcher prefetcher(source, data_, WithCache(cache, {.num_epochs = 1, .steps_per_epoch = 3}, 8));
    EXPECT_TRUE(source.stalled().Reaches(1));
  }
  EXPECT_EQ(rows_.labels_read().value(), 1);
}

TEST_F(PrefetcherWithCacheTest, TheFirstBatchDoesNotWaitForOthers) {
  StallingSource source(source_, 1);
  sampler::ScheduledRowCache cache = MakeCache(kPlenty);
  BatchPrefetcher prefetcher(source, data_, WithCache(cache, {.num_epochs = 1, .steps_per_epoch = 2}, 8));
  EXPECT_TRUE(source.stalled().Reaches(1));
  const Result<BatchTensors> batch = prefetcher.Next(Soon());
  ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  EXPECT_EQ(batch->batch.step, 0u);
}

}  // namespace
}  // namespace espalier::trainer
