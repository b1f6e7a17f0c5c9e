#include "services/format/checkpoint/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "services/format/testing/mutation.h"
#include "services/format/testing/tiny_checkpoint.h"
#include "services/storage/memory_store.h"

namespace espalier::format {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr const char* kCheckpoints = "run/checkpoints";
const std::string kFolder = "run/checkpoints/000001-000000000009";

// Commits a checkpoint of incarnation 1 after 9 steps.
void PutTiny(storage::ObjectStore& store) {
  const auto written = WriteCheckpoint(store, kCheckpoints, TinyCheckpoint(1, 1), TinyFiles({1, 9}));
  ASSERT_TRUE(written.ok()) << written.status().ToString();
}

void Overwrite(storage::ObjectStore& store, const std::string& key, const std::string& text) {
  auto writer = *store.Put(key);
  ASSERT_TRUE(writer->Write(std::as_bytes(std::span<const char>(text))).ok());
  ASSERT_TRUE(writer->Commit().ok());
}

TEST(CheckpointFolderTest, NamesSortAsCheckpointsDo) {
  EXPECT_EQ(CheckpointFolderName({7, 1200}), "000007-000000001200");
  EXPECT_LT(CheckpointFolderName({7, 1200}), CheckpointFolderName({7, 11000}));
  EXPECT_LT(CheckpointFolderName({7, 1200}), CheckpointFolderName({10, 3}));
  EXPECT_EQ(ParseCheckpointFolderName("000007-000000001200"), (CheckpointId{7, 1200}));
  EXPECT_EQ(ParseCheckpointFolderName(CheckpointFolderName({12345678, 1})), (CheckpointId{12345678, 1}));
  for (const char* other :
       {"", "-", "7-1200", "000007-00000000120x", "000007", "000007-000000001200-1", "0000007-000000001200",
        "000007--00000001200", " 00007-000000001200", "99999999999999999999999-000000000001"}) {
    EXPECT_EQ(ParseCheckpointFolderName(other), std::nullopt) << other;
  }
}

TEST(CheckpointTest, RoundTrips) {
  storage::MemoryStore store;
  CheckpointManifest manifest = TinyCheckpoint(1, 1);
  manifest.seed = ~uint64_t{0};
  manifest.loop.best_validation = std::numeric_limits<double>::infinity();
  manifest.metric = {"MeanSquaredError", false, -std::numeric_limits<double>::infinity()};
  ASSERT_TRUE(WriteCheckpoint(store, kCheckpoints, manifest, TinyFiles(manifest.id)).ok());

  const Result<LoadedCheckpoint> back = LoadCheckpoint(store, kFolder);
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(back->manifest.id, manifest.id);
  EXPECT_EQ(back->manifest.seed, manifest.seed);
  EXPECT_EQ(back->manifest.fields, manifest.fields);
  EXPECT_EQ(back->manifest.math, manifest.math);
  EXPECT_EQ(back->manifest.loop, manifest.loop);
  EXPECT_EQ(back->manifest.metric, manifest.metric);
  EXPECT_EQ(back->manifest.num_epochs, 5u);
  EXPECT_EQ(back->manifest.created_unix_seconds, manifest.created_unix_seconds);
  ASSERT_EQ(back->files.size(), 3u);
  EXPECT_EQ(back->files.at(kCheckpointModel).tensors.at("layer0.weight").values<float>()[5], 114.0f);
  EXPECT_EQ(back->files.at(kCheckpointBest).tensors.at("layer0.weight").values<float>()[0], 54.5f);
  EXPECT_TRUE(VerifyCheckpoint(store, kFolder).ok());
}

TEST(CheckpointTest, KeepsTheBitsOfEveryReal) {
  CheckpointManifest manifest = TinyCheckpoint(1, 1);
  manifest.files = {{kCheckpointModel, 0, {}}, {kCheckpointOptimizer, 0, {}}};
  manifest.loop.first_epoch_losses = {0.1 + 0.2, 5e-324, std::nextafter(1.0, 2.0), -0.0};
  manifest.loop.best_validation = std::nan("");
  const auto back = CheckpointManifestFromJson(CheckpointManifestToJson(manifest));
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(back->loop.first_epoch_losses, manifest.loop.first_epoch_losses);
  EXPECT_TRUE(std::signbit(back->loop.first_epoch_losses[3]));
  EXPECT_TRUE(std::isnan(*back->loop.best_validation));
  EXPECT_EQ(CheckpointManifestToJson(*back), CheckpointManifestToJson(manifest));
}

TEST(CheckpointTest, RowPiecesAreVerifiedSeparately) {
  storage::MemoryStore store;
  CheckpointFiles files = TinyFiles({1, 9});
  for (const uint64_t piece : {0u, 1u}) {
    files[LearnablePieceKey(piece)].tensors = {{"rows.author", FloatsFrom(10.0f * static_cast<float>(piece), 4)}};
  }
  ASSERT_TRUE(WriteCheckpoint(store, kCheckpoints, TinyCheckpoint(1, 1), files).ok());
  const auto loaded = LoadCheckpoint(store, kFolder);
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  EXPECT_TRUE(HasLearnablePieces(loaded->manifest));
  EXPECT_EQ(loaded->files.size(), 3u);
  EXPECT_EQ(loaded->manifest.files[1].key, "learnable/000000.safetensors");
  EXPECT_EQ(loaded->manifest.files[2].key, "learnable/000001.safetensors");
  const auto piece = ReadCheckpointFile(store, kFolder, loaded->manifest.files[2]);
  ASSERT_TRUE(piece.ok()) << piece.status().ToString();
  EXPECT_EQ(piece->tensors.at("rows.author").values<float>()[3], 13.0f);

  std::string bytes = *store.Get(kFolder + "/learnable/000001.safetensors");
  bytes.back() ^= 1;
  Overwrite(store, kFolder + "/learnable/000001.safetensors", bytes);
  for (const Status& status : {LoadCheckpoint(store, kFolder).status(), VerifyCheckpoint(store, kFolder)}) {
    EXPECT_EQ(status.code(), StatusCode::kDataLoss);
    EXPECT_THAT(status.message(), HasSubstr("learnable/000001.safetensors: block 0"));
  }
  EXPECT_FALSE(HasLearnablePieces(TinyCheckpoint(1, 1)));
}

TEST(CheckpointTest, RefusesSecondWrite) {
  storage::MemoryStore store;
  PutTiny(store);
  const auto again = WriteCheckpoint(store, kCheckpoints, TinyCheckpoint(1, 1), TinyFiles({5, 5}));
  EXPECT_EQ(again.status().code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(LoadCheckpoint(store, kFolder)->files.at(kCheckpointModel).tensors.at("layer0.weight").values<float>()[0],
            109.0f);
}

TEST(CheckpointTest, RefusesToCommitUnreadableCheckpoint) {
  storage::MemoryStore store;
  CheckpointManifest manifest = TinyCheckpoint(1, 1);
  manifest.fields["training.task.label"] = "\xff";
  EXPECT_FALSE(WriteCheckpoint(store, kCheckpoints, manifest, TinyFiles(manifest.id)).ok());
  CheckpointFiles without_optimizer = TinyFiles(manifest.id);
  without_optimizer.erase(kCheckpointOptimizer);
  EXPECT_FALSE(WriteCheckpoint(store, kCheckpoints, TinyCheckpoint(1, 1), without_optimizer).ok());
  EXPECT_EQ(store.Head(kFolder + "/manifest.json").status().code(), StatusCode::kNotFound);
}

TEST(CheckpointTest, NamesTheFileAndBlockThatIsCorrupt) {
  storage::MemoryStore store;
  PutTiny(store);
  std::string bytes = *store.Get(kFolder + "/optimizer.safetensors");
  bytes[bytes.size() - 3] ^= 1;
  Overwrite(store, kFolder + "/optimizer.safetensors", bytes);
  for (const Status& status : {LoadCheckpoint(store, kFolder).status(), VerifyCheckpoint(store, kFolder)}) {
    EXPECT_EQ(status.code(), StatusCode::kDataLoss);
    EXPECT_THAT(status.message(), HasSubstr(kFolder + "/optimizer.safetensors: block 0"));
  }
  Overwrite(store, kFolder + "/optimizer.safetensors", bytes + "x");
  EXPECT_THAT(LoadCheckpoint(store, kFolder).status().message(), HasSubstr("bytes, expected"));
  ASSERT_TRUE(store.Delete(kFolder + "/optimizer.safetensors").ok());
  EXPECT_EQ(LoadCheckpoint(store, kFolder).status().code(), StatusCode::kNotFound);
}

TEST(CheckpointTest, WithoutDeviceAndPrecisionIsOfTheCpuInF32) {
  storage::MemoryStore store;
  PutTiny(store);
  json document = json::parse(*store.Get(kFolder + "/manifest.json"));
  EXPECT_EQ(document["math"]["precision"], "BF16");
  document["math"].erase("precision");
  document["math"].erase("device");
  const auto manifest = CheckpointManifestFromJson(document.dump());
  ASSERT_TRUE(manifest.ok()) << manifest.status().ToString();
  EXPECT_EQ(manifest->math.device, "CPU");
  EXPECT_EQ(manifest->math.precision, "F32");
  EXPECT_EQ(manifest->math.collective, "None");
}

struct BadCheckpointField {
  std::string what;  // part of the message
  std::string pointer;
  json value;
};
void PrintTo(const BadCheckpointField& field, std::ostream* out) { *out << field.pointer << " = " << field.value; }

class BadCheckpointTest : public ::testing::TestWithParam<BadCheckpointField> {};

TEST_P(BadCheckpointTest, NamesTheField) {
  storage::MemoryStore store;
  PutTiny(store);
  json document = json::parse(*store.Get(kFolder + "/manifest.json"));
  document[json::json_pointer(GetParam().pointer)] = GetParam().value;
  const auto manifest = CheckpointManifestFromJson(document.dump());
  EXPECT_EQ(manifest.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(manifest.status().message(), HasSubstr(GetParam().what));
}

INSTANTIATE_TEST_SUITE_P(
    Fields, BadCheckpointTest,
    ::testing::Values(
        BadCheckpointField{"format: expected 'espalier.checkpoint'", "/format", "espalier.partitioned-graph"},
        BadCheckpointField{"this checkpoint has version 1", "/format_version", 1},
        BadCheckpointField{"global_step: expected 9", "/global_step", 10},
        BadCheckpointField{"next_step: expected at most", "/next_step", 5},
        BadCheckpointField{"epoch: expected an integer below 2^32", "/epoch", uint64_t{1} << 32},
        BadCheckpointField{"end: expected GoesOn", "/end", "Soon"},
        BadCheckpointField{"job_digest: expected the digest", "/fields/training.seed", "8"},
        BadCheckpointField{"fields.training.seed: expected a string", "/fields/training.seed", 7},
        BadCheckpointField{"math.blas: expected a string", "/math/blas", nullptr},
        BadCheckpointField{"metric.better: expected", "/metric/better", "more"},
        BadCheckpointField{"metric.value: expected a number", "/metric/value", "high"},
        BadCheckpointField{"loop.epochs[1].epoch: expected 1", "/loop/epochs/1/epoch", 2},
        BadCheckpointField{"loop.epochs: expected one report for each of 2", "/loop/epochs", json::array()},
        BadCheckpointField{"loop.epochs[0].loss: expected a number", "/loop/epochs/0/loss", nullptr},
        BadCheckpointField{"loop.first_epoch_losses[0]: expected", "/loop/first_epoch_losses/0", json::array()},
        BadCheckpointField{"expected at most 'steps_per_epoch' losses", "/loop/first_epoch_losses", {1, 2, 3, 4, 5}},
        BadCheckpointField{"loop.evaluations_since_best: expected", "/loop/evaluations_since_best", -1},
        BadCheckpointField{"files[0].key: object key", "/files/0/key", "../../etc/passwd"},
        BadCheckpointField{"is listed twice", "/files/0/key", "model.safetensors"},
        BadCheckpointField{"'model.safetensors' is missing", "/files/1/key", "x.safetensors"},
        BadCheckpointField{"one checksum for each of 1048576 blocks", "/files/0/size_bytes", uint64_t{1} << 42}));

TEST(CheckpointTest, RefusesGarbage) {
  storage::MemoryStore store;
  PutTiny(store);
  const std::string valid = *store.Get(kFolder + "/manifest.json");
  const std::string model = *store.Get(kFolder + "/model.safetensors");
  std::mt19937_64 random(7);
  for (int i = 0; i < 1000; ++i) {
    const auto manifest = CheckpointManifestFromJson(Mutated(valid, random));
    if (manifest.ok()) {
      EXPECT_TRUE(CheckpointManifestFromJson(CheckpointManifestToJson(*manifest)).ok());
    }
    const std::string bytes = Mutated(model, random);
    if (bytes == model) continue;
    Overwrite(store, kFolder + "/model.safetensors", bytes);
    EXPECT_FALSE(LoadCheckpoint(store, kFolder).ok());
  }
}

}  // namespace
}  // namespace espalier::format
