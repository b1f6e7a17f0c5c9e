#include "services/format/checkpoint/checkpoint_catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "services/base/failpoint.h"
#include "services/format/testing/tiny_checkpoint.h"
#include "services/storage/memory_store.h"
#include "services/storage/testing/hooked_store.h"

namespace espalier::format {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kPrefix = "checkpoints";

std::string FolderOf(uint64_t incarnation, uint32_t next_step) {
  return std::string(kPrefix) + "/" + CheckpointFolderName({incarnation, 8 + next_step});
}

// Prunes as a process that has not verified any checkpoint before.
Result<PrunedCheckpoints> Prune(storage::ObjectStore& store, const CheckpointId& own, uint64_t keep) {
  CheckpointVerdicts verdicts;
  return PruneCheckpoints(store, kPrefix, own, keep, verdicts);
}

Status Put(storage::ObjectStore& store, uint64_t incarnation, uint32_t next_step,
           std::optional<double> accuracy = std::nullopt) {
  CheckpointManifest manifest = TinyCheckpoint(incarnation, next_step);
  manifest.metric.value = accuracy;
  return WriteCheckpoint(store, kPrefix, manifest, TinyFiles(manifest.id)).status();
}

void Corrupt(storage::ObjectStore& store, const std::string& key) {
  std::string bytes = *store.Get(key);
  bytes.back() ^= 1;
  ASSERT_TRUE(store.Delete(key).ok());
  ASSERT_TRUE(store.PutIfAbsent(key, std::as_bytes(std::span<const char>(bytes))).ok());
}

std::vector<std::string> Folders(storage::ObjectStore& store, CheckpointState state) {
  std::vector<std::string> folders;
  const auto listings = ListCheckpoints(store, kPrefix);
  EXPECT_TRUE(listings.ok()) << listings.status().ToString();
  for (const CheckpointListing& listing : *listings) {
    if (listing.state == state) folders.push_back(listing.folder);
  }
  return folders;
}

TEST(CheckpointCatalogTest, DistinguishesCompleteIncompleteAndCorrupt) {
  storage::MemoryStore store;
  for (const uint32_t step : {0u, 1u, 2u, 3u}) ASSERT_TRUE(Put(store, 1, step).ok());
  ASSERT_TRUE(store.Delete(FolderOf(1, 1) + "/manifest.json").ok());
  ASSERT_TRUE(store.Delete(FolderOf(1, 2) + "/model.safetensors").ok());
  Corrupt(store, FolderOf(1, 3) + "/manifest.json");
  EXPECT_THAT(Folders(store, CheckpointState::kComplete), ElementsAre(FolderOf(1, 0)));
  EXPECT_THAT(Folders(store, CheckpointState::kIncomplete), ElementsAre(FolderOf(1, 1)));
  EXPECT_THAT(Folders(store, CheckpointState::kCorrupt), ElementsAre(FolderOf(1, 2), FolderOf(1, 3)));
}

TEST(CheckpointCatalogTest, FindsNewestOfGivenIncarnations) {
  storage::MemoryStore store;
  EXPECT_FALSE(LoadNewestCheckpoint(store, kPrefix, 9)->loaded.has_value());
  ASSERT_TRUE(Put(store, 1, 3).ok());
  ASSERT_TRUE(Put(store, 2, 1).ok());
  ASSERT_TRUE(Put(store, 4, 2).ok());
  EXPECT_EQ(LoadNewestCheckpoint(store, kPrefix, 3)->loaded->folder, FolderOf(2, 1));
  EXPECT_EQ(LoadNewestCheckpoint(store, kPrefix, 4)->loaded->folder, FolderOf(4, 2));
  EXPECT_FALSE(LoadNewestCheckpoint(store, kPrefix, 0)->loaded.has_value());
}

TEST(CheckpointCatalogTest, FallsBackFromCorruptNewestWithReason) {
  storage::MemoryStore store;
  for (const uint32_t step : {0u, 1u, 2u}) ASSERT_TRUE(Put(store, 1, step).ok());
  Corrupt(store, FolderOf(1, 2) + "/model.safetensors");
  ASSERT_TRUE(store.Delete(FolderOf(1, 1) + "/best.safetensors").ok());
  const auto newest = LoadNewestCheckpoint(store, kPrefix, 1);
  ASSERT_TRUE(newest.ok() && newest->loaded.has_value());
  EXPECT_EQ(newest->loaded->folder, FolderOf(1, 0));
  ASSERT_EQ(newest->skipped.size(), 2u);
  EXPECT_EQ(newest->skipped[0].folder, FolderOf(1, 2));
  EXPECT_THAT(newest->skipped[0].why.message(), HasSubstr("model.safetensors: block 0"));
  EXPECT_THAT(newest->skipped[1].why.message(), HasSubstr("best.safetensors is missing"));
}

// A predecessor behind a network partition commits its next checkpoint, and removes the one that was listed as the
// newest.
TEST(CheckpointCatalogTest, RetriesIfNewestIsRemovedBeforeRead) {
  storage::MemoryStore memory;
  ASSERT_TRUE(Put(memory, 1, 1).ok());
  std::atomic<bool> is_first = true;
  storage::HookedStore store(memory, [&](const std::string&, storage::ByteRange, std::span<std::byte>) {
    if (!is_first.exchange(false)) return Status();
    RETURN_IF_ERROR(Put(memory, 1, 2));
    return RemoveCheckpoint(memory, FolderOf(1, 1));
  });
  const Result<NewestCheckpoint> newest = LoadNewestCheckpoint(store, kPrefix, 2);
  ASSERT_TRUE(newest.ok()) << newest.status().ToString();
  ASSERT_TRUE(newest->loaded.has_value()) << "training would begin anew";
  EXPECT_EQ(newest->loaded->folder, FolderOf(1, 2));
  EXPECT_FALSE(is_first);
}

TEST(CheckpointCatalogTest, PrunesToTheNewestAndTheBest) {
  storage::MemoryStore store;
  ASSERT_TRUE(Put(store, 1, 0, 0.9).ok());
  ASSERT_TRUE(Put(store, 1, 1, 0.8).ok());
  ASSERT_TRUE(Put(store, 2, 0, 0.7).ok());
  ASSERT_TRUE(Put(store, 2, 1).ok());
  ASSERT_TRUE(Put(store, 3, 0, 0.95).ok());  // a later incarnation is not touched
  ASSERT_TRUE(Put(store, 1, 2).ok());
  ASSERT_TRUE(store.Delete(FolderOf(1, 2) + "/manifest.json").ok());
  const auto pruned = Prune(store, {2, 9}, /*keep=*/2);
  ASSERT_TRUE(pruned.ok()) << pruned.status().ToString();
  EXPECT_THAT(pruned->removed, ElementsAre(FolderOf(1, 1), FolderOf(1, 2)));
  EXPECT_THAT(Folders(store, CheckpointState::kComplete),
              ElementsAre(FolderOf(1, 0), FolderOf(2, 0), FolderOf(2, 1), FolderOf(3, 0)));
  EXPECT_THAT(*store.List(FolderOf(1, 2)), IsEmpty());
}

TEST(CheckpointCatalogTest, DivergedCheckpointIsNotBest) {
  storage::MemoryStore store;
  ASSERT_TRUE(Put(store, 1, 0, 0.9).ok());
  ASSERT_TRUE(Put(store, 1, 1, std::nan("")).ok());
  ASSERT_TRUE(Put(store, 1, 2, std::nan("")).ok());
  EXPECT_THAT(Prune(store, {1, 10}, /*keep=*/1)->removed, ElementsAre(FolderOf(1, 1)));
  EXPECT_THAT(Folders(store, CheckpointState::kComplete), ElementsAre(FolderOf(1, 0), FolderOf(1, 2)));
}

TEST(CheckpointCatalogTest, PrunesOnlyAfterCommit) {
  storage::MemoryStore store;
  for (const uint32_t step : {0u, 1u, 2u}) ASSERT_TRUE(Put(store, 1, step).ok());
  EXPECT_EQ(Prune(store, {2, 8}, 1).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(Folders(store, CheckpointState::kComplete).size(), 3u);
}

TEST(CheckpointCatalogTest, KeepsCorruptCheckpoints) {
  storage::MemoryStore store;
  for (const uint32_t step : {0u, 1u, 2u}) ASSERT_TRUE(Put(store, 1, step).ok());
  ASSERT_TRUE(store.Delete(FolderOf(1, 0) + "/model.safetensors").ok());
  EXPECT_THAT(Prune(store, {1, 10}, 1)->removed, ElementsAre(FolderOf(1, 1)));
  EXPECT_THAT(Folders(store, CheckpointState::kCorrupt), ElementsAre(FolderOf(1, 0)));
}

TEST(CheckpointCatalogTest, CorruptCheckpointDoesNotCountAsKept) {
  storage::MemoryStore store;
  for (const uint32_t step : {0u, 1u, 2u, 3u}) ASSERT_TRUE(Put(store, 1, step, 0.1 * step).ok());
  Corrupt(store, FolderOf(1, 3) + "/model.safetensors");  // the newest one before the next Put, and the best
  ASSERT_TRUE(Put(store, 2, 0, 0.0).ok());
  const auto pruned = Prune(store, {2, 8}, /*keep=*/2);
  ASSERT_TRUE(pruned.ok()) << pruned.status().ToString();
  EXPECT_THAT(pruned->removed, ElementsAre(FolderOf(1, 0), FolderOf(1, 1)));
  ASSERT_EQ(pruned->corrupt.size(), 1u);
  EXPECT_EQ(pruned->corrupt[0].folder, FolderOf(1, 3));
  EXPECT_THAT(pruned->corrupt[0].why.message(), HasSubstr("model.safetensors: block 0"));
  for (const std::string& folder : {FolderOf(1, 2), FolderOf(2, 0)}) EXPECT_TRUE(LoadCheckpoint(store, folder).ok());
}

TEST(CheckpointCatalogTest, VerifiesOnceAndOnlyBeforePruning) {
  storage::MemoryStore memory;
  for (const uint32_t step : {0u, 1u}) ASSERT_TRUE(Put(memory, 1, step).ok());
  int reads = 0;
  storage::HookedStore store(memory, [&](const std::string&, storage::ByteRange, std::span<std::byte>) {
    ++reads;
    return Status();
  });
  CheckpointVerdicts verdicts;
  ASSERT_TRUE(PruneCheckpoints(store, kPrefix, {1, 9}, /*keep=*/2, verdicts).ok());
  EXPECT_EQ(reads, 0);
  for (const uint32_t step : {2u, 3u}) {
    ASSERT_TRUE(Put(memory, 1, step).ok());
    ASSERT_TRUE(PruneCheckpoints(store, kPrefix, {1, 8 + step}, /*keep=*/2, verdicts).ok());
  }
  EXPECT_EQ(reads, 0);  // this process has written all checkpoints
  ASSERT_TRUE(Put(memory, 2, 0).ok());
  ASSERT_TRUE(Prune(store, {2, 8}, /*keep=*/2).ok());
  EXPECT_EQ(reads, 3);  // another process reads the files of the checkpoint before its own
}

TEST(CheckpointCatalogTest, VerifiesCorruptCheckpointOnce) {
  storage::MemoryStore memory;
  ASSERT_TRUE(Put(memory, 1, 0, 0.9).ok());  // the best, so that each Prune keeps it
  for (const uint32_t step : {1u, 2u}) ASSERT_TRUE(Put(memory, 1, step, 0.5).ok());
  Corrupt(memory, FolderOf(1, 0) + "/model.safetensors");
  int reads = 0;
  storage::HookedStore store(memory, [&](const std::string&, storage::ByteRange, std::span<std::byte>) {
    ++reads;
    return Status();
  });
  CheckpointVerdicts verdicts;
  const auto first = PruneCheckpoints(store, kPrefix, {1, 10}, /*keep=*/1, verdicts);
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  EXPECT_EQ(first->corrupt.size(), 1u);
  EXPECT_GT(std::exchange(reads, 0), 0);
  ASSERT_TRUE(Put(memory, 1, 3, 0.5).ok());
  const auto second = PruneCheckpoints(store, kPrefix, {1, 11}, /*keep=*/1, verdicts);
  ASSERT_TRUE(second.ok()) << second.status().ToString();
  EXPECT_THAT(second->corrupt, IsEmpty());
  EXPECT_EQ(reads, 0);
  EXPECT_THAT(Folders(memory, CheckpointState::kComplete), ElementsAre(FolderOf(1, 0), FolderOf(1, 3)));
}

TEST(CheckpointCatalogTest, WithoutTimePrunesOnlyVerifiedCheckpoints) {
  storage::MemoryStore store;
  for (const uint32_t step : {0u, 1u, 2u}) ASSERT_TRUE(Put(store, 1, step).ok());
  CheckpointVerdicts verdicts;
  const auto never = [] { return false; };
  const auto pruned = PruneCheckpoints(store, kPrefix, {1, 10}, /*keep=*/2, verdicts, never);
  ASSERT_TRUE(pruned.ok()) << pruned.status().ToString();
  EXPECT_THAT(pruned->removed, IsEmpty());  // 1, which replaces 0, is not verified yet
  verdicts[{1, 9}] = Status();
  EXPECT_THAT(PruneCheckpoints(store, kPrefix, {1, 10}, /*keep=*/2, verdicts, never)->removed,
              ElementsAre(FolderOf(1, 0)));
}

TEST(CheckpointCatalogTest, StopsVerifyingAtDeadline) {
  storage::MemoryStore memory;
  for (const uint32_t step : {0u, 1u, 2u, 3u}) ASSERT_TRUE(Put(memory, 1, step).ok());
  int reads = 0;
  storage::HookedStore store(memory, [&](const std::string&, storage::ByteRange, std::span<std::byte>) {
    ++reads;
    return Status();
  });
  CheckpointVerdicts verdicts;
  const auto pruned = PruneCheckpoints(store, kPrefix, {1, 11}, /*keep=*/3, verdicts, [&] { return reads < 1; });
  ASSERT_TRUE(pruned.ok()) << pruned.status().ToString();
  EXPECT_THAT(pruned->removed, IsEmpty());
  EXPECT_EQ(reads, 1);
}

TEST(CheckpointCatalogTest, FindsNamedCheckpoint) {
  storage::MemoryStore store;
  EXPECT_EQ(FindCheckpoints(store, "run").status().code(), StatusCode::kNotFound);
  const CheckpointManifest manifest = TinyCheckpoint(1, 0);
  ASSERT_TRUE(WriteCheckpoint(store, "run/checkpoints", manifest, TinyFiles(manifest.id)).ok());
  const std::string outputs = "{\"format\": \"espalier.outputs\"}";
  ASSERT_TRUE(store.PutIfAbsent("run/manifest.json", std::as_bytes(std::span<const char>(outputs))).ok());
  for (const char* prefix : {"run", "run/checkpoints"}) {
    const auto place = FindCheckpoints(store, prefix);
    ASSERT_TRUE(place.ok()) << place.status().ToString();
    EXPECT_FALSE(place->is_checkpoint);
    EXPECT_EQ(place->prefix, "run/checkpoints");
  }
  EXPECT_TRUE(FindCheckpoints(store, "run/checkpoints/000001-000000000008")->is_checkpoint);
}

// Saves a step and prunes, as a process does that may be killed at any point.
Status SaveAndPrune(storage::ObjectStore& store, uint32_t next_step) {
  RETURN_IF_ERROR(Put(store, 1, next_step));
  return Prune(store, {1, 8 + next_step}, /*keep=*/2).status();
}

// Expects that there are no corrupt checkpoints, and at least `at_least` complete ones.
void ExpectGood(storage::ObjectStore& store, size_t at_least, const std::string& where) {
  EXPECT_THAT(Folders(store, CheckpointState::kCorrupt), IsEmpty()) << where;
  const std::vector<std::string> good = Folders(store, CheckpointState::kComplete);
  EXPECT_GE(good.size(), at_least) << where;
  for (const std::string& folder : good) {
    const Status status = LoadCheckpoint(store, folder).status();
    EXPECT_TRUE(status.ok()) << where << ": " << status.ToString();
  }
}

// Expects that a later incarnation writes a checkpoint and removes the files that the crash has left.
void ExpectNextIncarnationCleansUp(storage::ObjectStore& store, const std::string& where) {
  ASSERT_TRUE(Put(store, 2, 3).ok()) << where;
  const auto pruned = Prune(store, {2, 11}, /*keep=*/2);
  ASSERT_TRUE(pruned.ok()) << where << pruned.status().ToString();
  EXPECT_THAT(Folders(store, CheckpointState::kIncomplete), IsEmpty()) << where;
  EXPECT_EQ(Folders(store, CheckpointState::kComplete).size(), 2u) << where;
}

TEST(CheckpointCrashTest, AnyFailpointLeavesGoodCheckpointsOnly) {
  for (const std::string failpoint :
       {"checkpoint.before_upload=error:UNAVAILABLE@3", "checkpoint.after_file=error:UNAVAILABLE@7",
        "checkpoint.after_file=error:UNAVAILABLE@8", "checkpoint.after_file=error:UNAVAILABLE@9",
        "checkpoint.before_manifest=error:UNAVAILABLE@3", "checkpoint.after_manifest=error:UNAVAILABLE@3",
        "checkpoint.prune=error:UNAVAILABLE@1"}) {
    storage::MemoryStore store;
    ASSERT_TRUE(ArmFailpoints(failpoint).ok());
    ASSERT_TRUE(SaveAndPrune(store, 0).ok());
    ASSERT_TRUE(SaveAndPrune(store, 1).ok());
    const Status crash = SaveAndPrune(store, 2);
    ASSERT_TRUE(ArmFailpoints("").ok());
    EXPECT_THAT(crash.message(), HasSubstr("failpoint checkpoint.")) << failpoint;
    ExpectGood(store, 2, failpoint);
    ExpectNextIncarnationCleansUp(store, failpoint);
  }
}

// Forwards the first `changes_left` requests that change the store, then fails, as if the process had been killed.
class DyingStore final : public storage::ObjectStore {
 public:
  DyingStore(storage::ObjectStore& inner, int changes_left) : inner_(inner), changes_left_(changes_left) {}

  std::string Describe() const override { return inner_.Describe(); }
  Result<storage::ObjectInfo> Head(const std::string& key) override { return inner_.Head(key); }
  Result<std::string> Get(const std::string& key) override { return inner_.Get(key); }
  Result<std::string> GetRange(const std::string& key, storage::ByteRange range) override {
    return inner_.GetRange(key, range);
  }
  Result<std::vector<storage::ObjectInfo>> List(const std::string& prefix) override { return inner_.List(prefix); }
  std::optional<std::string> LocalPath(const std::string&) override { return std::nullopt; }

  Result<std::unique_ptr<storage::ObjectWriter>> Put(const std::string& key) override {
    RETURN_IF_ERROR(Change());
    return inner_.Put(key);
  }
  Status PutIfAbsent(const std::string& key, std::span<const std::byte> bytes) override {
    RETURN_IF_ERROR(Change());
    return inner_.PutIfAbsent(key, bytes);
  }
  Status Delete(const std::string& key) override {
    RETURN_IF_ERROR(Change());
    return inner_.Delete(key);
  }

 private:
  Status Change() { return changes_left_-- > 0 ? Status() : Unavailable("this process is dead"); }

  storage::ObjectStore& inner_;
  int changes_left_;
};

TEST(CheckpointCrashTest, DeathBetweenAnyTwoRequestsLeavesGoodCheckpointsOnly) {
  bool survived = false;
  for (int changes = 0; !survived; ++changes) {
    ASSERT_LT(changes, 100);
    storage::MemoryStore store;
    ASSERT_TRUE(SaveAndPrune(store, 0).ok());
    ASSERT_TRUE(SaveAndPrune(store, 1).ok());
    DyingStore dying(store, changes);
    survived = SaveAndPrune(dying, 2).ok();
    const std::string where = "after " + std::to_string(changes) + " changes";
    ExpectGood(store, 2, where);
    ExpectNextIncarnationCleansUp(store, where);
  }
}

}  // namespace
}  // namespace espalier::format
