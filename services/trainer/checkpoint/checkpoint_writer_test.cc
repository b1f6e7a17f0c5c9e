// What the writer of checkpoints does when little time is left.
#include "services/trainer/checkpoint/checkpoint_writer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "services/base/testing/soon.h"
#include "services/format/testing/tiny_checkpoint.h"
#include "services/storage/memory_store.h"
#include "services/storage/testing/hooked_store.h"

namespace espalier::trainer {
namespace {

constexpr const char* kPrefix = "checkpoints";

LoopSnapshot SnapshotAt(uint32_t next_step, const torch::Tensor& parameters) {
  LoopSnapshot snapshot;
  snapshot.epoch = 2;
  snapshot.next_step = next_step;
  for (uint32_t epoch = 0; epoch < 2; ++epoch) {
    EpochReport report;
    report.epoch = epoch;
    snapshot.epochs.push_back(report);
  }
  snapshot.partial.epoch = 2;
  snapshot.model = {{"weight", parameters}};
  snapshot.optimizer = {{"moment", torch::zeros({2})}};
  return snapshot;
}

CheckpointFacts FactsOfTiny() {
  CheckpointFacts facts;
  facts.job_name = "tiny";
  facts.incarnation = 2;
  facts.num_epochs = 5;
  facts.steps_per_epoch = 4;
  facts.fields = {{"training.seed", "7"}};
  facts.num_partitions = 2;
  facts.num_trainers = 1;
  facts.collective = "None";
  facts.metric = "Accuracy";
  return facts;
}

// An older checkpoint stays in the place of another that goes, and is read for that: a stop does not wait for it, and
// a snapshot's memory is free by then.
TEST(CheckpointWriterTest, AHurryEndsTheReadingOfOlderOnes) {
  const auto inner = std::make_shared<storage::MemoryStore>();
  for (const uint32_t step : {0u, 1u}) {
    const format::CheckpointManifest manifest = format::TinyCheckpoint(1, step);
    ASSERT_TRUE(format::WriteCheckpoint(*inner, kPrefix, manifest, format::TinyFiles(manifest.id)).ok());
  }
  std::promise<void> begun, released;
  std::atomic<int> reads = 0;  // atomic, because the uploading thread reads
  const auto store = std::make_shared<storage::HookedStore>(*inner, [&](const std::string& key, auto, auto) {
    if (key.find(format::CheckpointFolderName({1, 9})) == std::string::npos || ++reads > 1) return Status();
    begun.set_value();
    released.get_future().wait_for(std::chrono::minutes(1));
    return Status();
  });

  const torch::Tensor parameters = torch::ones({6});
  CheckpointWriterOptions options;
  options.to = {store, kPrefix};
  options.when.keep = 2;
  options.facts = FactsOfTiny();
  CheckpointWriter writer(std::move(options));
  writer.Save(SnapshotAt(3, parameters));
  ASSERT_EQ(begun.get_future().wait_for(std::chrono::minutes(1)), std::future_status::ready);
  EXPECT_EQ(parameters.use_count(), 1u);
  EXPECT_FALSE(writer.AwaitRoom(Deadline::After(std::chrono::seconds(0))));
  writer.Hurry();
  released.set_value();
  EXPECT_TRUE(writer.AwaitRoom(Soon()));
  EXPECT_EQ(reads, 1) << "of three files";
  EXPECT_EQ(writer.Finish().num_written, 1u);
  EXPECT_EQ(format::ListCheckpoints(*inner, kPrefix)->size(), 3u) << "nothing goes that was not looked at";
}

}  // namespace
}  // namespace espalier::trainer
