// The checkpoint writer after a stop request, and with learnable rows that arrive piece by piece.
#include "services/trainer/checkpoint/checkpoint_writer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "services/base/failpoint.h"
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

// Before the writer removes a checkpoint, it reads and verifies the checkpoints that it keeps. After a stop request the
// writer must not wait for these reads, and they must begin only after the snapshot's memory is free.
TEST(CheckpointWriterTest, ExpediteStopsVerificationOfOlderCheckpoints) {
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
  options.settings.keep = 2;
  options.facts = FactsOfTiny();
  CheckpointWriter writer(std::move(options));
  writer.Save(SnapshotAt(3, parameters));
  ASSERT_EQ(begun.get_future().wait_for(std::chrono::minutes(1)), std::future_status::ready);
  EXPECT_EQ(parameters.use_count(), 1u);
  EXPECT_FALSE(writer.WaitForSnapshotSlot(Deadline::After(std::chrono::seconds(0))));
  writer.Expedite();
  released.set_value();
  EXPECT_TRUE(writer.WaitForSnapshotSlot(Soon()));
  EXPECT_EQ(reads, 1) << "of three files";
  EXPECT_EQ(writer.Finish().num_written, 1u);
  EXPECT_EQ(format::ListCheckpoints(*inner, kPrefix)->size(), 3u) << "unverified checkpoints stay";
}

// Pieces of eight bytes of rows, of which the writer holds two.
class CheckpointRowsTest : public testing::Test {
 protected:
  static format::Safetensors Piece(float value) {
    format::Safetensors piece;
    piece.tensors["rows.n"] = Tensor::FromVector(std::vector<float>{value, value}, {2, 1});
    return piece;
  }
  CheckpointWriterOptions Options(std::shared_ptr<storage::ObjectStore> store) {
    CheckpointWriterOptions options;
    options.to = {std::move(store), kPrefix};
    options.facts = FactsOfTiny();
    options.max_bytes_of_rows = 16;
    return options;
  }
  Result<bool> Give(CheckpointWriter& writer, float value, Deadline deadline = Soon()) {
    return writer.TakeRows(2, 3, Piece(value), deadline);
  }

  const std::shared_ptr<storage::MemoryStore> store_ = std::make_shared<storage::MemoryStore>();
  const std::string folder_ = std::string(kPrefix) + "/000002-000000000011";
};

TEST_F(CheckpointRowsTest, UseLimitedMemory) {
  std::promise<void> begun, released;
  std::atomic<bool> has_begun = false;  // atomic, because the uploading thread sets it
  const auto store = std::make_shared<storage::HookedStore>(*store_, [&](const std::string&, auto, auto) {
    if (has_begun.exchange(true)) return Status();
    begun.set_value();
    released.get_future().wait_for(std::chrono::minutes(1));
    return Status();
  });
  // A corrupt checkpoint of the same step, which the writer reads before it writes.
  format::CheckpointManifest manifest = format::TinyCheckpoint(2, 3);
  ASSERT_TRUE(format::WriteCheckpoint(*store_, kPrefix, manifest, format::TinyFiles(manifest.id)).ok());
  ASSERT_TRUE(store_->Delete(folder_ + "/model.safetensors").ok());

  CheckpointWriter writer(Options(store));
  EXPECT_TRUE(*Give(writer, 0));
  ASSERT_EQ(begun.get_future().wait_for(std::chrono::minutes(1)), std::future_status::ready);
  EXPECT_TRUE(*Give(writer, 1));
  EXPECT_FALSE(*Give(writer, 2, Deadline::After(std::chrono::milliseconds(1)))) << "no room";
  EXPECT_FALSE(writer.WaitForSnapshotSlot(Deadline::After(std::chrono::seconds(0))));
  released.set_value();
  EXPECT_TRUE(*Give(writer, 2));
  writer.Save(SnapshotAt(3, torch::ones({6})));
  EXPECT_EQ(writer.Finish().num_written, 1u);

  const auto loaded = format::LoadCheckpoint(*store_, folder_);
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  ASSERT_EQ(loaded->manifest.files.size(), 5u);
  for (const size_t piece : {0u, 1u, 2u}) {
    EXPECT_EQ(loaded->manifest.files[piece].key, format::LearnablePieceKey(piece));
    const auto rows = format::ReadCheckpointFile(*store_, folder_, loaded->manifest.files[piece]);
    EXPECT_EQ(rows->tensors.at("rows.n").ValueAsDouble(1), static_cast<double>(piece));
  }
}

TEST_F(CheckpointRowsTest, AreDroppedWithCheckpoint) {
  CheckpointWriter writer(Options(store_));
  EXPECT_TRUE(*Give(writer, 0));
  writer.CannotSave(Unavailable("the rest"));
  EXPECT_TRUE(writer.WaitForSnapshotSlot(Soon()));
  EXPECT_EQ(store_->List(folder_)->size(), 0u);
  EXPECT_TRUE(*Give(writer, 1)) << "a later one";
  EXPECT_TRUE(writer.SaveLast(SnapshotAt(3, torch::ones({6}))).ok());
  EXPECT_TRUE(*Give(writer, 2)) << "and one that its writer does not survive";
  const CheckpointSummary summary = writer.Finish();
  EXPECT_EQ(summary.num_written, 1u);
  EXPECT_EQ(summary.num_failed, 1u);
  const auto loaded = format::LoadCheckpoint(*store_, folder_);
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  EXPECT_EQ(loaded->manifest.files.size(), 3u);
}

TEST_F(CheckpointRowsTest, ReportErrorOfStore) {
  ASSERT_TRUE(ArmFailpoints("checkpoint.after_file=error:UNAVAILABLE").ok());
  CheckpointWriter writer(Options(store_));
  Result<bool> given = true;
  for (int piece = 0; piece < 4 && given.ok(); ++piece) given = Give(writer, 0);
  EXPECT_EQ(given.status().code(), StatusCode::kUnavailable);
  writer.CannotSave(given.status());
  EXPECT_EQ(store_->List(folder_)->size(), 0u) << "what was put is removed";
  ASSERT_TRUE(ArmFailpoints("").ok());
  EXPECT_TRUE(*Give(writer, 1));
  EXPECT_TRUE(writer.SaveLast(SnapshotAt(3, torch::ones({6}))).ok());
  EXPECT_EQ(writer.Finish().num_failed, 1u);
}

}  // namespace
}  // namespace espalier::trainer
