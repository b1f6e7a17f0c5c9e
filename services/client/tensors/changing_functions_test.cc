// Plugin functions that read and change tensors of the calling job: access, atomicity, application exactly once, and
// refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "services/base/failpoint.h"
#include "services/client/tensors/dist_tensor.h"
#include "services/client/testing/open_served.h"
#include "services/client/testing/tensors_everywhere.h"
#include "services/rpc/testing/fault_proxy.h"
#include "services/server/plugin_tensors.h"

namespace espalier::client {
namespace {

using rpc::testing::FaultProxy;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::OpenServed;

const NodeTypeId kPaper(1);
const PartitionId kFirst(0);

testing::ServedGraphOptions WithTensorPlugin() { return testing::WithPlugin("tensors", ESPALIER_TEST_TENSOR_PLUGIN); }

// One I64 per row.
DistTensor MakeNumbers(const DistGraph& graph, const RowSpace& rows, const std::string& name) {
  auto tensor = DistTensor::Create(graph, {.rows = rows, .dtype = DType::kI64, .name = name});
  ESPALIER_CHECK(tensor.ok()) << tensor.status().ToString();
  return *std::move(tensor);
}

std::vector<int64_t> NumbersIn(const DistTensor& tensor, uint64_t first, uint64_t last) {
  const auto rows = tensor.ReadRows(testing::RowRange(first, last));
  ESPALIER_CHECK(rows.ok()) << rows.status().ToString();
  return {rows->values<int64_t>().begin(), rows->values<int64_t>().end()};
}

Status Change(const DistGraph& graph, const std::string& script) {
  return graph.CallFunction(kFirst, "tensors/change", script, TensorEffect::kChanges).status();
}

class ChangingFunctionsTest : public ::testing::Test {
 protected:
  explicit ChangingFunctionsTest(const testing::ServedGraphOptions& options = WithTensorPlugin())
      : served_(testing::SmallTypedGraph(), 2, options), graph_(OpenServed(served_.addresses())) {}

  testing::ServedGraph served_;
  const std::unique_ptr<DistGraph> graph_;
};

TEST_F(ChangingFunctionsTest, ChangeOwnedRows) {
  const graph::PartitionBook& book = graph_->book();
  const std::string relation = graph_->schema().edge_types()[0].relation;
  const std::pair<RowSpace, std::string> spaces[] = {{RowSpace::Nodes(kPaper), "nodes:paper"},
                                                     {RowSpace::Edges(EdgeTypeId(0)), "edges:" + relation},
                                                     {RowSpace::Own(1001), "own"}};
  for (const auto& [space, words] : spaces) {
    const DistTensor tensor = MakeNumbers(*graph_, space, "reached");
    const std::vector<uint64_t> first = FirstRows(space, book);
    for (uint32_t p = 0; p < 2; ++p) {
      const std::string value = std::to_string(p + 5);
      const auto changed = graph_->CallFunction(
          PartitionId(p), "tensors/change",
          "assign " + words + " reached " + value + " *\nadd " + words + " reached 100 0", TensorEffect::kChanges);
      ASSERT_TRUE(changed.ok()) << changed.status().ToString();
    }
    for (uint32_t p = 0; p < 2; ++p) {
      const std::vector<int64_t> numbers = NumbersIn(tensor, first[p], first[p + 1]);
      EXPECT_EQ(numbers[0], p + 105) << words;
      EXPECT_THAT(std::vector<int64_t>(numbers.begin() + 1, numbers.end()), Each(p + 5)) << words;
      const auto seen = graph_->CallFunction(PartitionId(p), "tensors/look", "read " + words + " reached 1 0 1");
      ASSERT_TRUE(seen.ok()) << seen.status().ToString();
      EXPECT_EQ(*seen, std::to_string(p + 5) + " " + std::to_string(p + 105) + " " + std::to_string(p + 5) + "\n");
    }
  }
}

TEST_F(ChangingFunctionsTest, ApplyChangesInCallOrder) {
  const DistTensor tensor = MakeNumbers(*graph_, RowSpace::Own(10), "x");
  const Status changed = Change(*graph_,
                                "assign own x 5 0 1 2\nadd own x 2 0 0\nmin own x 3 1\nmax own x 8 2\n"
                                "or own x 10 1\nassign own x 1 3\nassign own x 4 3");
  ASSERT_TRUE(changed.ok()) << changed.ToString();
  EXPECT_THAT(NumbersIn(tensor, 0, 5), ElementsAre(9, 11, 8, 4, 0));
}

TEST_F(ChangingFunctionsTest, LostReplyIsResentWithoutSecondCall) {
  const DistTensor tensor = MakeNumbers(*graph_, RowSpace::Own(10), "x");
  const int runs = std::stoi(*graph_->CallFunction(kFirst, "tensors/look", "runs"));
  ASSERT_TRUE(ArmFailpoints("server.reply=error:UNAVAILABLE@1").ok());
  const auto answer =
      graph_->CallFunction(kFirst, "tensors/change", "runs\nread own x 3\nadd own x 7 3", TensorEffect::kChanges);
  ASSERT_TRUE(ArmFailpoints("").ok());
  ASSERT_TRUE(answer.ok()) << answer.status().ToString();
  EXPECT_EQ(*answer, std::to_string(runs + 1) + "\n0\n");
  EXPECT_EQ(*graph_->CallFunction(kFirst, "tensors/look", "runs"), std::to_string(runs + 2) + "\n");
  EXPECT_THAT(NumbersIn(tensor, 3, 4), ElementsAre(7));
}

// Each call sees the additions of all earlier calls exactly once, over connections that are closed and repeated.
TEST_F(ChangingFunctionsTest, NoCallIsLostOrDoubled) {
  constexpr int kCalls = 200;
  std::vector<std::unique_ptr<FaultProxy>> proxies;
  std::vector<std::string> addresses;
  for (const std::string& server : served_.addresses()) {
    proxies.push_back(std::make_unique<FaultProxy>(rpc::testing::FaultProxyOptions{
        .server = server, .seed = 30 + proxies.size(), .cut = 0.02, .delay = 0.02, .repeat = 0.7}));
    addresses.push_back(proxies.back()->address());
  }
  const DistTensor tensor = MakeNumbers(*graph_, RowSpace::Own(10), "x");
  const auto cut = OpenServed(addresses);
  for (int i = 0; i < kCalls; ++i) {
    const auto answers =
        cut->CallFunctionEverywhere("tensors/change", "read own x 0\nadd own x 1 0", TensorEffect::kChanges);
    ASSERT_TRUE(answers.ok()) << answers.status().ToString();
    ASSERT_THAT(*answers, Each(std::to_string(i) + "\n"));
  }
  EXPECT_GT(proxies[0]->cuts() + proxies[1]->cuts(), 0u);
  proxies.clear();
  EXPECT_EQ(NumbersIn(tensor, 0, 1)[0], kCalls);
  EXPECT_EQ(NumbersIn(tensor, 5, 6)[0], kCalls);  // first row of the second partition
}

TEST_F(ChangingFunctionsTest, ReadAndWriteAreAtomic) {
  constexpr int kPrograms = 4, kIncrements = 50;
  const DistTensor tensor = MakeNumbers(*graph_, RowSpace::Own(10), "x");
  {
    std::vector<std::jthread> programs;
    for (int program = 0; program < kPrograms; ++program) {
      programs.emplace_back([this] {
        const auto graph = OpenServed(served_.addresses());
        for (int i = 0; i < kIncrements; ++i) {
          const Status changed = Change(*graph, "increment own x 2");
          ASSERT_TRUE(changed.ok()) << changed.ToString();
        }
      });
    }
  }
  EXPECT_EQ(NumbersIn(tensor, 2, 3)[0], kPrograms * kIncrements);
}

TEST_F(ChangingFunctionsTest, TensorsOfOtherJobsAreUnreachable) {
  const auto nightly = OpenServed(served_.addresses(), seconds(60), "nightly"),
             weekly = OpenServed(served_.addresses(), seconds(60), "weekly");
  const DistTensor of_nightly = MakeNumbers(*nightly, RowSpace::Own(10), "x");
  const DistTensor of_weekly = MakeNumbers(*weekly, RowSpace::Own(10), "x");
  ASSERT_TRUE(Change(*nightly, "assign own x 3 1").ok());
  EXPECT_EQ(NumbersIn(of_nightly, 1, 2)[0], 3);
  EXPECT_EQ(NumbersIn(of_weekly, 1, 2)[0], 0);
  EXPECT_EQ(*weekly->CallFunction(kFirst, "tensors/look", "read own x 1"), "0\n");
  const Status of_neither = Change(*graph_, "assign own x 3 1");
  EXPECT_EQ(of_neither.code(), StatusCode::kNotFound);
  EXPECT_THAT(of_neither.message(), AllOf(HasSubstr("there is no tensor 'x'"), HasSubstr("there are none")));
}

TEST_F(ChangingFunctionsTest, ChangesAreAllOrNothing) {
  const DistTensor tensor = MakeNumbers(*graph_, RowSpace::Own(10), "x");
  const DistTensor floats =
      *DistTensor::Create(*graph_, {.rows = RowSpace::Own(10), .dtype = DType::kF32, .name = "floats"});
  const auto error_of = [&](const std::string& script) { return Change(*graph_, "add own x 1 0\n" + script); };

  EXPECT_EQ(error_of("throw").code(), StatusCode::kInternal);
  const Status row = error_of("add own x 1 5");  // row of the second partition
  EXPECT_EQ(row.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(row.message(), AllOf(HasSubstr("function 'tensors/change'"),
                                   HasSubstr("row 5 of tensor 'x' is not one of the 5 that the partition owns")));
  EXPECT_EQ(error_of("read own x 5").code(), StatusCode::kInvalidArgument);
  const Status dtype = error_of("add own floats 1 0");
  EXPECT_EQ(dtype.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(dtype.message(), HasSubstr("tensor 'floats' has elements of dtype 9 (F32), not 6"));
  EXPECT_EQ(error_of("read own floats 0").code(), StatusCode::kInvalidArgument);
  const Status name = error_of("add own y 1 0");
  EXPECT_EQ(name.code(), StatusCode::kNotFound);
  EXPECT_THAT(name.message(), AllOf(HasSubstr("no tensor 'y'"), HasSubstr("'x'")));
  const Status early = error_of("read own x 1 0");
  EXPECT_EQ(early.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(early.message(), HasSubstr("row 0 of tensor 'x' is read after a change"));

  EXPECT_THAT(NumbersIn(tensor, 0, 10), Each(0));
  EXPECT_TRUE(error_of("read own x 1").ok());
  EXPECT_EQ(NumbersIn(tensor, 0, 1)[0], 1);
}

TEST_F(ChangingFunctionsTest, UnchangedRowsAreReadable) {
  const DistTensor x = MakeNumbers(*graph_, RowSpace::Own(10), "x");
  const DistTensor y = MakeNumbers(*graph_, RowSpace::Own(10), "y");
  const Status others =
      Change(*graph_, "add own x 1 1 3\nread own x 0 2 4\nadd own x 1 4\nread own x 0 2\nread own y 1 3 4");
  EXPECT_EQ(others, Status());
  const Status second = Change(*graph_, "add own x 1 1\nread own x 4\nadd own y 1 2\nadd own x 1 4\nread own x 2 4");
  EXPECT_EQ(second.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(second.message(), HasSubstr("row 4 of tensor 'x' is read after a change"));
}

// While a function runs, its tensor is dropped and another one is created with the same name.
TEST_F(ChangingFunctionsTest, RecreatedTensorIsNotChanged) {
  const DistTensor dropped = MakeNumbers(*graph_, RowSpace::Own(10), "x");
  const server::ServiceLimits limits;
  server::PluginTensors call(served_.local().shards[0]->tensors(), graph_->book(), kFirst,
                             {"", 0, Deadline::After(seconds(60))}, server::TensorUse::kChanges, limits);
  EspalierTensor found = {};
  ASSERT_TRUE(call.Find(ESPALIER_ROWS_OF_OWN, 0, "x", &found).ok());
  uint64_t changed = 1, other = 2;
  int64_t value = 7;
  const EspalierTensorRows change = {&changed, 1, &value, sizeof(value), ESPALIER_I64};
  const EspalierTensorRows query = {&other, 1, &value, sizeof(value), ESPALIER_I64};
  ASSERT_TRUE(call.Change(found.number, ESPALIER_ASSIGN, change).ok());

  ASSERT_TRUE(DistTensor::Drop(*graph_, RowSpace::Own(10), "x").ok());
  const DistTensor anew = MakeNumbers(*graph_, RowSpace::Own(10), "x");

  EXPECT_EQ(call.Read(found.number, query).code(), StatusCode::kNotFound);
  EXPECT_TRUE(call.Apply().ok());  // as if it had been applied before the drop
  EXPECT_THAT(NumbersIn(anew, 0, 10), Each(0));
}

TEST_F(ChangingFunctionsTest, CallAfterDeadlineChangesNothing) {
  const DistTensor tensor = MakeNumbers(*graph_, RowSpace::Own(10), "x");
  const auto impatient = OpenServed(served_.addresses(), seconds(1));
  EXPECT_EQ(Change(*impatient, "outlive\nadd own x 7 0").code(), StatusCode::kDeadlineExceeded);
  ASSERT_TRUE(Change(*graph_, "add own x 1 0").ok());  // runs after it on the only thread
  EXPECT_EQ(NumbersIn(tensor, 0, 1)[0], 1);
}

TEST_F(ChangingFunctionsTest, CallersMustDeclareChanges) {
  const DistTensor tensor = MakeNumbers(*graph_, RowSpace::Own(10), "x");
  const Status unsaid = graph_->CallFunction(kFirst, "tensors/change", "add own x 1 0").status();
  EXPECT_EQ(unsaid.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(unsaid.message(), HasSubstr("changes tensors: call it with TensorEffect::kChanges"));
  const Status false_say =
      graph_->CallFunction(kFirst, "tensors/look", "read own x 0", TensorEffect::kChanges).status();
  EXPECT_EQ(false_say.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(false_say.message(), HasSubstr("changes no tensors"));
  const Status undeclared = graph_->CallFunction(kFirst, "tensors/look", "add own x 1 0").status();
  EXPECT_EQ(undeclared.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(undeclared.message(), HasSubstr("a function that is not ESPALIER_CHANGING"));
  EXPECT_EQ(graph_->CallFunction(kFirst, "tensors/none", "", TensorEffect::kChanges).status().code(),
            StatusCode::kUnimplemented);
  EXPECT_EQ(NumbersIn(tensor, 0, 1)[0], 0);
}

TEST_F(ChangingFunctionsTest, InvalidChangesAreErrors) {
  const DistTensor tensor = MakeNumbers(*graph_, RowSpace::Own(10), "x");
  const auto statuses = graph_->CallFunction(kFirst, "tensors/misuse", "x", TensorEffect::kChanges);
  ASSERT_TRUE(statuses.ok()) << statuses.status().ToString();
  // The status codes in the order of the plugin's calls: find_tensor; null rows, null values, dtype, bytes, count and
  // row, each for reading and changing; null and number; kind.
  EXPECT_EQ(*statuses, "3 3 3 3 3 3 5 3 3 3 3 3 3 3 3 8 8 3 3 3 3 3 3 3");
  EXPECT_THAT(NumbersIn(tensor, 0, 10), Each(0));
  const Status untold = graph_->CallFunction(kFirst, "tensors/find", "").status();
  EXPECT_EQ(untold.code(), StatusCode::kNotFound);
  EXPECT_THAT(untold.message(), HasSubstr("function 'tensors/find': there is no tensor 'nowhere'"));
  const Status over = graph_->CallFunction(kFirst, "tensors/find_again", "x").status();
  EXPECT_EQ(over.code(), StatusCode::kNotFound);
  EXPECT_THAT(over.message(), HasSubstr("function 'tensors/find_again': it failed"));
  const Status initializer =
      DistTensor::Create(*graph_, {.rows = RowSpace::Own(3), .initializer = Initializer::Plugin("tensors/ask")})
          .status();
  EXPECT_EQ(initializer.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(initializer.message(), HasSubstr("initializers cannot access tensors"));
}

class BoundedChangesTest : public ChangingFunctionsTest {
 protected:
  BoundedChangesTest() : ChangingFunctionsTest(Bounded()) {}
  static testing::ServedGraphOptions Bounded() {
    testing::ServedGraphOptions options = WithTensorPlugin();
    options.limits.max_change_bytes = 3 * (256 + 4 + 8);  // three changes of one row
    options.limits.max_kept_answer_bytes = 0;
    options.limits.max_function_bytes = 200;
    return options;
  }
};

TEST_F(BoundedChangesTest, RefusesTooLargeChangesEntirely) {
  const DistTensor tensor = MakeNumbers(*graph_, RowSpace::Own(1000), "x");
  const std::string three = "add own x 1 0\nadd own x 1 1\nadd own x 1 2\n";
  const Status many = Change(*graph_, three + "add own x 1 3");
  EXPECT_EQ(many.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(many.message(), HasSubstr("the call's changes would take 1072 bytes, the limit is 804"));
  EXPECT_EQ(Change(*graph_, "read own x *\nadd own x 1 0").code(), StatusCode::kResourceExhausted);  // the response
  EXPECT_THAT(NumbersIn(tensor, 0, 4), Each(0));
  EXPECT_TRUE(Change(*graph_, three).ok());
  EXPECT_THAT(NumbersIn(tensor, 0, 4), ElementsAre(1, 1, 1, 0));
}

TEST_F(BoundedChangesTest, ForgottenReplyIsReported) {
  const DistTensor tensor = MakeNumbers(*graph_, RowSpace::Own(10), "x");
  ASSERT_TRUE(ArmFailpoints("server.reply=error:UNAVAILABLE@1").ok());
  const Status lost = Change(*graph_, "add own x 7 3");
  ASSERT_TRUE(ArmFailpoints("").ok());
  EXPECT_EQ(lost.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(lost.message(),
              HasSubstr("has made its changes in an earlier attempt, whose response is no longer stored"));
  EXPECT_EQ(NumbersIn(tensor, 3, 4)[0], 7);
}

class SmallRepliesTest : public ChangingFunctionsTest {
 protected:
  SmallRepliesTest() : ChangingFunctionsTest(Small()) {}
  static testing::ServedGraphOptions Small() {
    testing::ServedGraphOptions options = WithTensorPlugin();
    options.limits.max_reply_bytes = 64 << 10;
    return options;
  }
};

TEST_F(SmallRepliesTest, TooLargeReplyChangesNothing) {
  const DistTensor tensor = MakeNumbers(*graph_, RowSpace::Own(100'000), "x");
  // The response is "0 " for each of the first partition's 50,000 rows, which is too large.
  EXPECT_EQ(Change(*graph_, "read own x *\nadd own x 1 0").code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(NumbersIn(tensor, 0, 1)[0], 0);
}

}  // namespace
}  // namespace espalier::client
