#include "services/sampler/batches/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace espalier::sampler {
namespace {

using testing::HasSubstr;

graph::GraphSchema SchemaOfTwoRelations() {
  return *graph::GraphSchema::Make({"n"}, {{"n", "e", "n"}, {"n", "f", "n"}});
}

std::string PathTo(const std::string& name) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  return testing::TempDir() + "/" + test->name() + "-" + name;
}

// The drawn sources of one seed, in one relation of one layer. Original ids equal node numbers.
struct Drawn {
  int64_t seed;
  std::vector<int64_t> sources;
};

struct Share {
  MiniBatch batch;
  std::vector<int64_t> ids;
};

Share SelectShare(uint32_t epoch, uint32_t step, const std::vector<Drawn>& draws, size_t layer = 0,
                  EdgeTypeId relation = EdgeTypeId(0)) {
  Share share;
  share.batch.epoch = epoch;
  share.batch.step = step;
  Block block{relation, {0}, {}, {}};
  for (const Drawn& drawn : draws) share.ids.push_back(drawn.seed);
  for (const Drawn& drawn : draws) {
    for (const int64_t source : drawn.sources) {
      block.indices.push_back(static_cast<uint32_t>(share.ids.size()));
      share.ids.push_back(source);
    }
    block.indptr.push_back(static_cast<uint32_t>(block.indices.size()));
  }
  share.batch.layers.resize(layer);  // empty layers
  share.batch.layers.push_back({{block}, {}, {}});
  return share;
}

std::string WriteAudit(const std::string& name, const std::vector<Share>& shares) {
  const std::string path = PathTo(name);
  auto writer = AuditWriter::Open(path, SchemaOfTwoRelations());
  EXPECT_TRUE(writer.ok());
  for (const Share& share : shares) EXPECT_TRUE((*writer)->Record(share.batch, {share.ids}).ok());
  EXPECT_TRUE((*writer)->Close().ok());
  return path;
}

TEST(AuditTest, DoesNotDependOnHowSharesWereDivided) {
  const std::string all =
      WriteAudit("all", {SelectShare(0, 0, {{1, {5, 6}}, {2, {6}}, {3, {}}}), SelectShare(0, 1, {{4, {1}}})});
  const std::string one = WriteAudit("one", {SelectShare(0, 0, {{3, {}}, {2, {6}}})});
  const std::string two =
      WriteAudit("two", {SelectShare(0, 0, {{2, {6}}, {1, {5, 6}}}), SelectShare(0, 1, {{4, {1}}})});
  const auto expected = MergeAudits({all});
  const auto merged = MergeAudits({one, two});
  ASSERT_TRUE(expected.ok());
  ASSERT_TRUE(merged.ok()) << merged.status().ToString();
  EXPECT_EQ(merged->samples_digest, expected->samples_digest);
  EXPECT_EQ(merged->num_expansions, 4u);
  EXPECT_EQ(MergeAudits({two, one})->samples_digest, expected->samples_digest);
}

TEST(AuditTest, DetectsEveryChange) {
  const std::vector<std::vector<Share>> runs = {{SelectShare(0, 0, {{1, {5, 6}}})},
                                                {SelectShare(0, 0, {{1, {6, 5}}})},
                                                {SelectShare(0, 0, {{1, {5}}})},
                                                {SelectShare(0, 1, {{1, {5, 6}}})},
                                                {SelectShare(1, 0, {{1, {5, 6}}})},
                                                {SelectShare(0, 0, {{2, {5, 6}}})},
                                                {SelectShare(0, 0, {{1, {5, 6}}}, /*layer=*/1)},
                                                {SelectShare(0, 0, {{1, {5, 6}}}, /*layer=*/0, EdgeTypeId(1))},
                                                {}};
  std::vector<std::string> digests;
  for (const auto& run : runs) digests.push_back(MergeAudits({WriteAudit("run", run)})->samples_digest);
  for (size_t i = 0; i < digests.size(); ++i) {
    for (size_t j = 0; j < i; ++j) EXPECT_NE(digests[i], digests[j]) << i << " " << j;
  }
}

TEST(AuditTest, FindsTrainersThatDrewDifferently) {
  const std::string one = WriteAudit("one", {SelectShare(2, 3, {{1, {5}}})});
  const std::string two = WriteAudit("two", {SelectShare(2, 3, {{1, {6}}})});
  const Status status = MergeAudits({one, two}).status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(),
              HasSubstr("destination 1 (the original id of a node, or a hash of it and the time; epoch 2, step 3"));
}

TEST(AuditTest, RefusesDamagedFiles) {
  const std::string path = WriteAudit("cut", {SelectShare(0, 0, {{1, {5}}})});
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  EXPECT_THAT(MergeAudits({path}).status().message(), HasSubstr("truncated"));
  std::ofstream(PathTo("other")) << "hello, world";
  EXPECT_THAT(MergeAudits({PathTo("other")}).status().message(), HasSubstr("not an audit file"));
  EXPECT_EQ(MergeAudits({PathTo("missing")}).status().code(), StatusCode::kNotFound);
  const std::string backwards = WriteAudit("back", {SelectShare(1, 0, {{1, {5}}}), SelectShare(0, 0, {{1, {5}}})});
  EXPECT_THAT(MergeAudits({backwards}).status().message(), HasSubstr("ascending"));
}

}  // namespace
}  // namespace espalier::sampler
