// Names of tensors: reuse, handles of dropped tensors, restarted servers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/exit_code.h"
#include "services/client/tensors/dist_tensor.h"
#include "services/client/testing/open_served.h"
#include "services/client/testing/tensors_everywhere.h"
#include "services/sampler/routing/embedding_store.h"

namespace espalier::client {
namespace {

using ::testing::HasSubstr;
using testing::RowRange;
using testing::ServedGraph;

Tensor Ones(size_t count) { return Tensor::FromVector(std::vector<float>(count, 1)); }

class DistTensorNamesTest : public testing::TensorsEverywhere {};

TEST_P(DistTensorNamesTest, OldHandleDoesNotReachRecreatedTensor) {
  const RowSpace space = RowSpace::Nodes(NodeTypeId(0));
  DistTensor old = Make({.rows = space, .name = "t", .lifetime = Lifetime::kPersistent});
  DistTensor mask = Make({.rows = space, .dtype = DType::kI32});
  ASSERT_TRUE(DistTensor::Drop(*graph_, space, "t").ok());
  DistTensor anew = Make({.rows = space, .dtype = DType::kI32, .name = "t"});

  EXPECT_EQ(old.AddRows(RowRange(0, 3), Ones(3)).code(), StatusCode::kNotFound);
  EXPECT_EQ(old.WriteRows(RowRange(0, 3), Ones(3)).code(), StatusCode::kNotFound);
  EXPECT_EQ(old.ReadRows(RowRange(0, 3)).status().code(), StatusCode::kNotFound);
  EXPECT_THAT(old.Sum().status().message(), HasSubstr("recreated"));
  EXPECT_EQ(*anew.CountNonzero(), 0u);
  ASSERT_TRUE(DistTensor::Drop(*graph_, space, "t").ok());
  EXPECT_EQ(mask.Or(anew).code(), StatusCode::kNotFound);
}

// The rows are dropped with the handle; the next iteration of a loop does not find them.
TEST_P(DistTensorNamesTest, AScopedNameCanBeUsedAgainAtOnce) {
  for (int round = 0; round < 20; ++round) {
    DistTensor scratch = Make({.rows = RowSpace::Own(30), .name = "scratch"});
    ASSERT_TRUE(scratch.made_by_this());
    ASSERT_EQ(scratch.Sum()->ValueAsDouble(0), 0) << "round " << round;
    ASSERT_TRUE(scratch.AddRows(RowRange(0, 30), Ones(30)).ok());
  }
}

TEST_P(DistTensorNamesTest, AssigningAnotherHandleOfATensorKeepsItsRows) {
  const DistTensorOptions options{.rows = RowSpace::Own(30), .name = "t", .initializer = Initializer::Constant(2)};
  {
    DistTensor t = Make(options);
    t = Make(options);
    EXPECT_EQ(t.Sum()->ValueAsDouble(0), 60);
  }
  EXPECT_TRUE(Make(options).made_by_this());  // dropped with the remaining handle
}

TEST_P(DistTensorNamesTest, OwnRowsOpenWithoutTheirCount) {
  const DistTensor t = Make({.rows = RowSpace::Own(10), .name = "t"});
  auto found = DistTensor::Open(*graph_, RowSpace::Own(), "t");
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_EQ(found->num_rows(), 10u);
  EXPECT_TRUE(found->AddRows(RowRange(9, 10), Ones(1)).ok());
  const Status other = DistTensor::Open(*graph_, RowSpace::Own(11), "t").status();
  EXPECT_THAT(other.message(), HasSubstr("has 10 rows, not 11"));
  ASSERT_TRUE(DistTensor::Drop(*graph_, RowSpace::Own(11), "t").ok());  // no tensor of this size exists
  EXPECT_TRUE(t.Sum().ok());
}

TEST_P(DistTensorNamesTest, StateNamesOfLearnableRowsAreReserved) {
  const RowSpace space = RowSpace::Nodes(NodeTypeId(0));
  const Status tensor = DistTensor::Create(*graph_, {.rows = space, .name = "author.state"}).status();
  EXPECT_EQ(tensor.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(tensor.message(), HasSubstr("'author.state': names that end with '.state'"));
  sampler::EmbeddingStore& store = graph_->partitions().embeddings();
  sampler::EmbeddingSpec rows{
      .id = {.rows = space}, .width = 4, .optimizer = {.type = sampler::SparseOptimizerType::kAdagrad}};
  rows.id.name = "author.state";
  EXPECT_EQ(store.CreateEmbedding(rows, graph_->CallDeadline()).code(), StatusCode::kInvalidArgument);
  rows.id.name = "author";
  EXPECT_EQ(store.CreateEmbedding(rows, graph_->CallDeadline()), Status());
}

TEST_P(DistTensorNamesTest, DetachKeepsColumnsOfOtherHandles) {
  const RowSpace space = RowSpace::Nodes(NodeTypeId(1));
  const std::vector<GlobalNodeId> nodes = {GlobalNodeId(0)};
  DistTensor first = Make({.rows = space, .name = "t"});
  ASSERT_TRUE(first.AttachAs("x").ok());
  {
    auto second = DistTensor::Open(*graph_, space, "t");
    ASSERT_TRUE(second.ok());
    ASSERT_TRUE(second->AttachAs("x").ok());
    first.Detach("x");
    EXPECT_TRUE(graph_->GatherNodeRows(NodeTypeId(1), "x", nodes).ok());
  }
  EXPECT_EQ(graph_->GatherNodeRows(NodeTypeId(1), "x", nodes).status().code(), StatusCode::kNotFound);
}

INSTANTIATE_TEST_SUITE_P(Everywhere, DistTensorNamesTest, testing::kEverywhere, testing::NameOfReached);

class LostRowsTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  std::unique_ptr<DistGraph> Open() const { return testing::OpenServed(served_.addresses()); }

  ServedGraph served_{testing::SmallGraph(), 2};
};

// Acknowledged rows that a restart of a server has lost are never read as zeros, whichever program creates the name
// again.
TEST_P(LostRowsTest, RecreatingTensorDoesNotHideLoss) {
  const uint32_t lost = GetParam();
  const auto graph = Open(), other = Open();
  const DistTensorOptions options{.rows = RowSpace::Own(10), .name = "visits", .lifetime = Lifetime::kPersistent};
  auto visits = DistTensor::Create(*graph, options);
  ASSERT_TRUE(visits.ok()) << visits.status().ToString();
  ASSERT_TRUE(visits->AddRows(RowRange(0, 10), Ones(10)).ok());
  served_.Restart(lost);

  for (int round = 0; round < 2; ++round) {
    const Status again = DistTensor::Create(*other, options).status();
    EXPECT_EQ(again.code(), StatusCode::kNotFound) << again.ToString();
    EXPECT_THAT(again.message(), HasSubstr("drop it by its name"));
    EXPECT_EQ(visits->Sum().status().code(), StatusCode::kNotFound);
    EXPECT_EQ(visits->AddRows(RowRange(0, 10), Ones(10)).code(), StatusCode::kNotFound);
  }

  ASSERT_TRUE(DistTensor::Drop(*other, options.rows, options.name).ok());
  const auto anew = DistTensor::Create(*other, options);
  ASSERT_TRUE(anew.ok()) << anew.status().ToString();
  EXPECT_TRUE(anew->made_by_this());
  EXPECT_EQ(anew->Sum()->ValueAsDouble(0), 0);
  EXPECT_EQ(visits->Sum().status().code(), StatusCode::kNotFound);
}

// Exit code 74 instead of 65: the program must be restarted.
TEST_P(LostRowsTest, ConversionMakesLossUnavailable) {
  const auto graph = Open();
  const DistTensorOptions options{.rows = RowSpace::Own(10), .name = "visits", .lifetime = Lifetime::kPersistent};
  auto visits = DistTensor::Create(*graph, options);
  ASSERT_TRUE(visits.ok()) << visits.status().ToString();
  EXPECT_TRUE(NotFoundToUnavailable(visits->AddRows(RowRange(0, 10), Ones(10))).ok());
  EXPECT_TRUE(NotFoundToUnavailable(visits->ReadRows(RowRange(0, 10))).ok());
  served_.Restart(GetParam());

  const Status lost = NotFoundToUnavailable(visits->AddRows(RowRange(0, 10), Ones(10)));
  EXPECT_EQ(lost.code(), StatusCode::kUnavailable) << lost.ToString();
  EXPECT_EQ(ToExitCode(lost.code()), ExitCode::kUnavailable);
  EXPECT_EQ(NotFoundToUnavailable(visits->ReadRows(RowRange(0, 10))).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(NotFoundToUnavailable(InvalidArgument("rows")).code(), StatusCode::kInvalidArgument);
}

// When a program has exited, its scoped tensors are no longer on the servers.
TEST_P(LostRowsTest, ScopedRowsDoNotOutliveTheirProgram) {
  {
    const auto graph = Open();
    const auto scoped = DistTensor::Create(*graph, {.rows = RowSpace::Own(10), .name = "scoped"});
    ASSERT_TRUE(scoped.ok());
  }
  const sampler::TensorId id{RowSpace::Own(10), "scoped", {}};
  const auto left = testing::Await<sampler::TensorDescription>([&](auto done) {
    served_.Remote(GetParam())->tensors().Describe(id, Deadline::After(std::chrono::seconds(60)), done);
  });
  EXPECT_EQ(left.status().code(), StatusCode::kNotFound);
}

INSTANTIATE_TEST_SUITE_P(EitherServer, LostRowsTest, ::testing::Values(0u, 1u));

}  // namespace
}  // namespace espalier::client
