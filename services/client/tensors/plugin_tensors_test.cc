// Tensors whose initial values a plugin computes: equal in this process and on servers, for any partitioning; no tensor
// exists after a failure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "services/client/testing/open_served.h"
#include "services/client/testing/tensors_everywhere.h"
#include "services/graph/generators.h"
#include "services/shard/plugin_rows.h"

namespace espalier::client {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ListOriginalIds;
using testing::RowRange;

int64_t SumLetters(const std::string& text) { return std::accumulate(text.begin(), text.end(), int64_t{0}); }

class PluginTensorsTest : public testing::TensorsEverywhere {
 protected:
  PluginTensorsTest() : TensorsEverywhere(testing::WithPlugin("test", ESPALIER_TEST_PLUGIN)) {}

  Status TryCreate(const std::string& initializer, const std::string& arguments = "") const {
    return DistTensor::Create(*graph_, {.rows = papers_,
                                        .row_shape = {2},
                                        .name = "failing",
                                        .initializer = Initializer::Plugin(initializer, arguments)})
        .status();
  }
  const RowSpace papers_ = RowSpace::Nodes(NodeTypeId(1));
};

TEST_P(PluginTensorsTest, FirstValuesAreThoseOfTheirOriginalIds) {
  for (const RowSpace& space : Spaces()) {
    const DistTensor tensor = Make({.rows = space,
                                    .row_shape = {2, 3},
                                    .dtype = DType::kI64,
                                    .name = "fields",
                                    .initializer = Initializer::Plugin("test/fields", "a b", 42)});
    std::vector<uint64_t> original(tensor.num_rows());
    std::iota(original.begin(), original.end(), uint64_t{0});
    if (space.of != sampler::RowsOf::kOwn) original = ListOriginalIds(served_.local(), space);
    const Tensor rows = All(tensor);
    const std::string name = sampler::RowsName(space, graph_->book());
    for (uint64_t row = 0; row < original.size(); ++row) {
      ASSERT_THAT(rows.values<int64_t>().subspan(row * 6, 6),
                  ElementsAre(static_cast<int64_t>(original[row]), 42, static_cast<int64_t>(tensor.num_rows()),
                              SumLetters(name), SumLetters("fields"), SumLetters("a b")))
          << name << " row " << row;
    }
  }
}

TEST_P(PluginTensorsTest, InitializerGetsBlocksWithColumns) {
  constexpr int64_t kWide = 1 << 12;  // 16 KiB
  static_assert(shard::kPluginBlockBytes / (kWide * sizeof(float)) < 100, "a partition's rows are several blocks");
  const DistTensor tensor =
      Make({.rows = papers_,
            .row_shape = {kWide},
            .initializer = Initializer::Plugin("test/column", std::string("paper ") + graph::kFeatureColumn)});
  std::vector<GlobalNodeId> papers;
  for (uint64_t node = 0; node < tensor.num_rows(); ++node) papers.emplace_back(node);
  const auto features = graph_->GatherNodeRows(NodeTypeId(1), graph::kFeatureColumn, papers);
  ASSERT_TRUE(features.ok()) << features.status().ToString();
  const size_t width = features->row_bytes() / sizeof(float);
  const Tensor rows = All(tensor);
  for (uint64_t row = 0; row < tensor.num_rows(); ++row) {
    for (const uint64_t column : {uint64_t{0}, uint64_t{kWide - 1}}) {
      ASSERT_EQ(rows.values<float>()[row * kWide + column], features->values<float>()[row * width]) << "row " << row;
    }
  }
}

TEST_P(PluginTensorsTest, EmptyRowsCallNoInitializer) {
  EXPECT_EQ(Make({.rows = RowSpace::Own(0), .initializer = Initializer::Plugin("test/throw")}).num_rows(), 0u);
  const DistTensor none =
      Make({.rows = RowSpace::Own(5), .row_shape = {0}, .initializer = Initializer::Plugin("test/throw")});
  EXPECT_EQ(none.num_rows(), 5u);
}

TEST_P(PluginTensorsTest, ReportsErrorsOfInitializer) {
  EXPECT_EQ(TryCreate("test/throw").code(), StatusCode::kInternal);
  EXPECT_THAT(TryCreate("test/throw").message(),
              AllOf(HasSubstr("tensor 'failing'"), HasSubstr("initializer 'test/throw': out of values")));
  EXPECT_EQ(TryCreate("test/half").code(), StatusCode::kInternal);
  EXPECT_THAT(TryCreate("test/half").message(), HasSubstr("it has filled "));
  EXPECT_EQ(TryCreate("test/too-much").code(), StatusCode::kInternal);
  EXPECT_THAT(TryCreate("test/too-much").message(), HasSubstr("more than the "));
  EXPECT_EQ(TryCreate("test/abort").code(), StatusCode::kInternal);  // ABORTED is reserved for older incarnations
  EXPECT_EQ(TryCreate("test/fields-").code(), StatusCode::kUnimplemented);
  EXPECT_THAT(TryCreate("test/fields-").message(), AllOf(HasSubstr("'test/fields-'"), HasSubstr("'test/fields'")));
  EXPECT_EQ(TryCreate("fields").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(TryCreate("test/column", "paper nothing").code(), StatusCode::kFailedPrecondition);
  const Status dtype =
      DistTensor::Create(*graph_,
                         {.rows = papers_, .dtype = DType::kU8, .initializer = Initializer::Plugin("test/fields")})
          .status();
  EXPECT_EQ(dtype.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(dtype.message(), HasSubstr("the tensor's dtype is 2"));
}

// The initializer fails on the partition of one paper, after the other partitions have filled their rows.
TEST_P(PluginTensorsTest, FailureOnOnePartitionLeavesNoRows) {
  const auto other = OpenAnother();
  for (const char* paper : {"0", "1", "2", "799"}) {
    const Status failed = TryCreate("test/refuse-one", paper);
    EXPECT_EQ(failed.code(), StatusCode::kFailedPrecondition)
        << failed.ToString();  // NOT_FOUND is reserved for lost rows
    EXPECT_THAT(failed.message(), HasSubstr(std::string("nothing is known of ") + paper));
    EXPECT_EQ(DistTensor::Open(*other, papers_, "failing").status().code(), StatusCode::kNotFound);
  }
  const DistTensor zeros = Make({.rows = papers_, .row_shape = {3}, .dtype = DType::kI8, .name = "failing"});
  EXPECT_TRUE(zeros.made_by_this());
  EXPECT_EQ(*zeros.CountNonzero(), 0u);
}

TEST_P(PluginTensorsTest, SlowInitializerTimesOut) {
  const auto impatient = OpenAnother(std::chrono::seconds(1));
  const DistTensorOptions options{.rows = papers_, .name = "slow", .initializer = Initializer::Plugin("test/wait")};
  EXPECT_EQ(DistTensor::Create(*impatient, options).status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(*Make({.rows = papers_,
                   .dtype = DType::kI64,
                   .name = "after",
                   .initializer = Initializer::Plugin("test/fields", "", 7)})
                 .CountNonzero(),
            graph_->num_nodes(NodeTypeId(1)) - 1);  // all but paper 0
}

TEST_P(PluginTensorsTest, LearnableRowsUseInitializers) {
  sampler::EmbeddingSpec spec{.id = {.rows = papers_, .name = "learned"},
                              .width = 6,
                              .initializer = Initializer::Plugin("test/fields", "x", 3)};
  spec.initializer.stream = "rows";
  sampler::EmbeddingStore& store = graph_->partitions().embeddings();
  const Status created = store.CreateEmbedding(spec, graph_->CallDeadline());
  ASSERT_TRUE(created.ok()) << created.ToString();
  const DistTensor tensor = Make({.rows = papers_, .row_shape = {6}, .initializer = spec.initializer});
  const auto rows = store.ReadEmbedding(spec, 0, RowRange(0, tensor.num_rows()), graph_->CallDeadline());
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  EXPECT_TRUE(std::ranges::equal(rows->values<float>(), All(tensor).values<float>()));
  EXPECT_EQ(rows->values<float>()[1], 3.0F);

  spec.id.name = "failing";
  spec.initializer = Initializer::Plugin("test/throw");
  EXPECT_EQ(store.CreateEmbedding(spec, graph_->CallDeadline()).code(), StatusCode::kInternal);
  spec.initializer = Initializer::Zeros();
  EXPECT_TRUE(store.CreateEmbedding(spec, graph_->CallDeadline()).ok());
}

INSTANTIATE_TEST_SUITE_P(Everywhere, PluginTensorsTest, testing::kEverywhere, testing::NameOfReached);

class WithoutPluginsTest : public testing::TensorsEverywhere {};

TEST_P(WithoutPluginsTest, ReportsThatNoneAreLoaded) {
  const Status refused =
      DistTensor::Create(*graph_, {.rows = RowSpace::Own(3), .initializer = Initializer::Plugin("test/fields")})
          .status();
  EXPECT_EQ(refused.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(refused.message(), HasSubstr("has no plugins (spec.servers.plugins)"));
}

INSTANTIATE_TEST_SUITE_P(Everywhere, WithoutPluginsTest, testing::kEverywhere, testing::NameOfReached);

}  // namespace
}  // namespace espalier::client
