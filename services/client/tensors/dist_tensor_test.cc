// Tensors are created, named, found, shared and dropped, in this process and on servers.
#include "services/client/tensors/dist_tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <latch>
#include <optional>
#include <span>
#include <thread>

#include "services/client/testing/tensors_everywhere.h"
#include "services/graph/generators.h"

namespace espalier::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::RowRange;
using testing::ServedGraph;

class DistTensorTest : public testing::TensorsEverywhere {};

TEST_P(DistTensorTest, IsFoundByName) {
  const auto other = OpenAnother();
  const RowSpace space = RowSpace::Nodes(NodeTypeId(1));
  DistTensor first = Make({.rows = space, .row_shape = {2}, .name = "shared", .initializer = Initializer::Constant(4)});
  const DistTensorOptions same{.rows = space, .row_shape = {2}, .name = "shared"};
  auto second = DistTensor::Create(*other, same);
  ASSERT_TRUE(second.ok()) << second.status().ToString();
  EXPECT_FALSE(second->made_by_this());
  EXPECT_EQ(All(*second).ValueAsDouble(0), 4);
  ASSERT_TRUE(first.AddRows(RowRange(0, 1), Tensor::FromVector<float>({1, 2}, {1, 2})).ok());
  EXPECT_EQ(All(*second).ValueAsDouble(1), 6);

  auto found = DistTensor::Open(*other, space, "shared");
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_EQ(found->shape(), first.shape());
  EXPECT_EQ(found->dtype(), DType::kF32);
  const auto missing = DistTensor::Open(*other, space, "shred");
  EXPECT_EQ(missing.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(missing.status().message(), HasSubstr("'shared'"));

  const auto code_of = [&](DistTensorOptions options) { return DistTensor::Create(*other, options).status().code(); };
  EXPECT_EQ(code_of({.rows = space, .row_shape = {3}, .name = "shared"}), StatusCode::kAlreadyExists);
  EXPECT_EQ(code_of({.rows = space, .row_shape = {2}, .dtype = DType::kF64, .name = "shared"}),
            StatusCode::kAlreadyExists);
  EXPECT_EQ(code_of({.rows = space, .name = graph::kFeatureColumn}), StatusCode::kAlreadyExists);
  EXPECT_EQ(code_of({.rows = space, .name = "a/b"}), StatusCode::kInvalidArgument);
  // Own rows are found by name alone, so a different size is a different shape.
  const DistTensor own = Make({.rows = RowSpace::Own(10), .name = "shared"});
  EXPECT_EQ(code_of({.rows = RowSpace::Own(11), .name = "shared"}), StatusCode::kAlreadyExists);
}

TEST_P(DistTensorTest, AnonymousTensorsAreDistinct) {
  const auto other = OpenAnother();
  std::vector<std::string> names;
  for (int i = 0; i < 3; ++i) {
    const DistTensor mine = Make({.rows = RowSpace::Own(3)});
    const auto others = DistTensor::Create(*other, {.rows = RowSpace::Own(3)});
    ASSERT_TRUE(others.ok());
    EXPECT_TRUE(mine.made_by_this() && others->made_by_this());
    names.push_back(mine.name());
    names.push_back(others->name());
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
}

// The first program creates the tensor on all partitions; the others open it.
TEST_P(DistTensorTest, OneOfManyCreatesTensor) {
  constexpr size_t kPrograms = 6;
  std::vector<std::unique_ptr<DistGraph>> programs;
  for (size_t i = 0; i < kPrograms; ++i) programs.push_back(OpenAnother());
  for (int round = 0; round < 10; ++round) {
    const std::string name = "round-" + std::to_string(round);
    std::vector<std::future<Result<DistTensor>>> created;
    for (const auto& program : programs) {
      created.push_back(std::async(std::launch::async, [&program, &name] {
        return DistTensor::Create(*program, {.rows = RowSpace::Own(100), .dtype = DType::kI32, .name = name});
      }));
    }
    std::vector<DistTensor> tensors;
    for (auto& one : created) {
      auto tensor = one.get();
      ASSERT_TRUE(tensor.ok()) << tensor.status().ToString();
      tensors.push_back(*std::move(tensor));
    }
    const auto makers = std::count_if(tensors.begin(), tensors.end(), [](const auto& t) { return t.made_by_this(); });
    EXPECT_EQ(makers, 1);
    const Tensor ones = Tensor::FromVector(std::vector<int32_t>(100, 1));
    for (DistTensor& tensor : tensors) ASSERT_TRUE(tensor.AddRows(RowRange(0, 100), ones).ok());
    EXPECT_EQ(tensors[0].Sum()->ValueAsInt(0), static_cast<int64_t>(100 * kPrograms));
  }
}

TEST_P(DistTensorTest, ConcurrentAdditionsAllCount) {
  constexpr int kThreads = 4, kRounds = 25;
  const RowSpace space = RowSpace::Edges(EdgeTypeId(1));
  const DistTensorOptions options{.rows = space, .dtype = DType::kI32, .name = "counts"};
  const DistTensor counts = Make(options);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        const auto program = OpenAnother();
        auto mine = DistTensor::Create(*program, options);
        ASSERT_TRUE(mine.ok());
        const auto rows = RowRange(0, mine->num_rows());
        const Tensor ones = Tensor::FromVector(std::vector<int32_t>(rows.size(), 1));
        for (int round = 0; round < kRounds; ++round) ASSERT_TRUE(mine->AddRows(rows, ones).ok());
      });
    }
  }
  EXPECT_EQ(counts.Min()->ValueAsInt(0), kThreads * kRounds);
  EXPECT_EQ(counts.Max()->ValueAsInt(0), kThreads * kRounds);
}

// Two programs write the same rows concurrently, each with one value: a third never reads a mixture within a row.
TEST_P(DistTensorTest, ConcurrentWritesOfRowDoNotMix) {
  constexpr int kRounds = 25;
  constexpr int64_t kRows = 12, kWidth = 64;
  const DistTensor contended = Make({.rows = RowSpace::Own(kRows), .row_shape = {kWidth}, .name = "contended"});
  const auto values_of_rows = [&] {
    const Tensor all = All(contended);
    std::vector<float> values;
    for (size_t row = 0; row < kRows; ++row) {
      const std::span<const float> elements = all.values<float>().subspan(row * kWidth, kWidth);
      values.push_back(elements.front());
      EXPECT_EQ(std::count(elements.begin(), elements.end(), values.back()), kWidth) << "row " << row;
    }
    return values;
  };
  std::latch start{2};
  std::atomic<int> writing = 2;
  std::vector<std::jthread> writers;
  for (int writer = 0; writer < 2; ++writer) {
    writers.emplace_back([&, writer] {
      const auto program = OpenAnother();
      auto mine = DistTensor::Open(*program, contended.rows(), contended.name());
      EXPECT_TRUE(mine.ok()) << mine.status().ToString();
      start.arrive_and_wait();
      for (int round = 0; mine.ok() && round < kRounds; ++round) {
        const std::vector<float> values(kRows * kWidth, static_cast<float>(2 * round + writer));
        EXPECT_TRUE(mine->WriteRows(RowRange(0, kRows), Tensor::FromVector(values, {kRows, kWidth})).ok());
      }
      --writing;
    });
  }
  while (writing > 0) values_of_rows();
  writers.clear();
  for (const float value : values_of_rows()) EXPECT_GE(value, 2 * (kRounds - 1));  // written in the last rounds
}

TEST_P(DistTensorTest, ScopedRowsEndWithCreatingHandle) {
  const auto other = OpenAnother();
  const RowSpace space = RowSpace::Own(50);
  std::optional<DistTensor> maker = Make({.rows = space, .name = "scoped"});
  {
    auto reference = DistTensor::Create(*other, {.rows = space, .name = "scoped"});
    ASSERT_TRUE(reference.ok());
    auto opened = DistTensor::Open(*other, space, "scoped");
    ASSERT_TRUE(opened.ok());
    const DistTensor moved = *std::move(opened);
  }
  EXPECT_TRUE(DistTensor::Open(*other, space, "scoped").ok());
  DistTensor moved = std::move(*maker);
  maker.reset();
  EXPECT_TRUE(DistTensor::Open(*other, space, "scoped").ok());
  moved = Make({.rows = space, .name = "next"});
  // The drop is asynchronous.
  const Deadline deadline = Deadline::After(std::chrono::seconds(60));
  Status status;
  while (status.ok() && !deadline.HasPassed()) status = DistTensor::Open(*other, space, "scoped").status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_TRUE(DistTensor::Open(*other, space, "next").ok());
}

TEST_P(DistTensorTest, PersistentRowsStayUntilTheyAreDropped) {
  const RowSpace space = RowSpace::Nodes(NodeTypeId(0));
  { const DistTensor gone = Make({.rows = space, .name = "kept", .lifetime = Lifetime::kPersistent}); }
  auto kept = DistTensor::Open(*graph_, space, "kept");
  ASSERT_TRUE(kept.ok()) << kept.status().ToString();
  ASSERT_TRUE(DistTensor::Drop(*graph_, space, "kept").ok());
  ASSERT_TRUE(DistTensor::Drop(*graph_, space, "kept").ok());
  EXPECT_EQ(kept->ReadRows(RowRange(0, 1)).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(kept->AddRows(RowRange(0, 1), Tensor::FromVector<float>({1})).code(), StatusCode::kNotFound);
}

TEST_P(DistTensorTest, ReadsAsAColumn) {
  DistTensor ranks = Make({.rows = RowSpace::Nodes(NodeTypeId(1)), .row_shape = {2}, .name = "pagerank"});
  DistTensor times = Make({.rows = RowSpace::Edges(EdgeTypeId(0)), .dtype = DType::kI64});
  const std::vector<GlobalNodeId> nodes = {GlobalNodeId(700), GlobalNodeId(1)};
  const std::vector<GlobalEdgeId> edges = {GlobalEdgeId(5), GlobalEdgeId(500)};
  ASSERT_TRUE(ranks.WriteRows(ToRowIds(nodes), Tensor::FromVector<float>({1, 2, 3, 4}, {2, 2})).ok());
  ASSERT_TRUE(times.WriteRows(ToRowIds(edges), Tensor::FromVector<int64_t>({8, 9})).ok());
  EXPECT_EQ(graph_->GatherNodeRows(NodeTypeId(1), "rank", nodes).status().code(), StatusCode::kNotFound);

  ASSERT_TRUE(ranks.AttachAs("rank").ok());
  ASSERT_TRUE(times.AttachAs("time").ok());

  const auto by_name = graph_->GatherNodeRows(NodeTypeId(1), "rank", nodes);
  ASSERT_TRUE(by_name.ok()) << by_name.status().ToString();
  EXPECT_THAT(by_name->values<float>(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(by_name->shape(), ElementsAre(2, 2));
  EXPECT_THAT(graph_->GatherEdgeRows(EdgeTypeId(0), "time", edges)->values<int64_t>(), ElementsAre(8, 9));
  EXPECT_EQ(graph_->GatherEdgeRows(EdgeTypeId(1), "time", edges).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(ranks.AttachAs(graph::kFeatureColumn).code(), StatusCode::kAlreadyExists);
  const auto last_type = static_cast<uint16_t>(graph_->schema().num_edge_types() - 1);  // the type with ratings
  const Status taken = Make({.rows = RowSpace::Edges(EdgeTypeId(last_type))}).AttachAs("rating");
  EXPECT_EQ(taken.code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(taken.message(), HasSubstr("'rating' is an immutable column"));
  EXPECT_TRUE(times.AttachAs("rating").ok());  // other types do not have this column
  EXPECT_EQ(Make({.rows = RowSpace::Own(3)}).AttachAs("own").code(), StatusCode::kInvalidArgument);
  ranks.Detach("rank");
  EXPECT_EQ(graph_->GatherNodeRows(NodeTypeId(1), "rank", nodes).status().code(), StatusCode::kNotFound);
}

TEST_P(DistTensorTest, RefusesRowsAndValuesThatDoNotFit) {
  DistTensor tensor = Make({.rows = RowSpace::Own(10), .row_shape = {2}});
  const auto code_of = [&](std::vector<GlobalRowId> rows, const Tensor& values) {
    return tensor.WriteRows(rows, values).code();
  };
  EXPECT_EQ(code_of(RowRange(9, 11), Tensor::Zeros(DType::kF32, {2, 2})), StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of(RowRange(0, 2), Tensor::Zeros(DType::kF32, {2})), StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of(RowRange(0, 2), Tensor::Zeros(DType::kF32, {1, 2})), StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of(RowRange(0, 2), Tensor::Zeros(DType::kF64, {2, 2})), StatusCode::kInvalidArgument);
  EXPECT_EQ(tensor.ReadRows(RowRange(10, 11)).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(tensor.ReadRows({})->shape(), (std::vector<int64_t>{0, 2}));
}

INSTANTIATE_TEST_SUITE_P(Everywhere, DistTensorTest, testing::kEverywhere, testing::NameOfReached);

std::unique_ptr<DistGraph> OpenAs(const ServedGraph& served, const std::string& job, uint64_t incarnation) {
  Context context;
  context.session.addresses = served.addresses();
  context.session.access = Access::kRpc;
  context.session.job = job;
  context.session.incarnation = incarnation;
  context.call_timeout = std::chrono::seconds(60);
  auto graph = DistGraph::Open(context);
  ESPALIER_CHECK(graph.ok()) << graph.status().ToString();
  return *std::move(graph);
}

// Servers that outlive their jobs.
TEST(DistTensorJobsTest, JobsOnSameServersAreSeparate) {
  ServedGraph served(testing::SmallGraph(), 2);
  const auto first = OpenAs(served, "first", 4), second = OpenAs(served, "second", 0);
  const DistTensorOptions options{.rows = RowSpace::Own(10), .name = "t", .initializer = Initializer::Constant(1)};
  auto of_first = DistTensor::Create(*first, options), of_second = DistTensor::Create(*second, options);
  ASSERT_TRUE(of_first.ok() && of_second.ok()) << of_second.status().ToString();
  EXPECT_TRUE(of_first->made_by_this() && of_second->made_by_this());
  ASSERT_TRUE(of_first->AddRows(RowRange(0, 10), Tensor::FromVector(std::vector<float>(10, 1))).ok());
  EXPECT_EQ(of_second->Sum()->ValueAsDouble(0), 10);
  EXPECT_EQ(of_first->Sum()->ValueAsDouble(0), 20);

  // The second job keeps its tensor when a new incarnation drops that of the first.
  const auto restarted = OpenAs(served, "first", 5);
  const auto anew = DistTensor::Create(*restarted, options);
  ASSERT_TRUE(anew.ok());
  EXPECT_TRUE(anew->made_by_this());
  EXPECT_EQ(anew->Sum()->ValueAsDouble(0), 10);
  EXPECT_EQ(of_first->Sum().status().code(), StatusCode::kAborted);
  EXPECT_TRUE(of_second->Sum().ok());
}

}  // namespace
}  // namespace espalier::client
