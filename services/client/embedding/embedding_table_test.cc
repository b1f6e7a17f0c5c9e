// Learnable rows as arrays, stored on servers, compared with optimizers that are implemented in this file.
#include "services/client/embedding/embedding_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <thread>

#include "services/base/philox.h"
#include "services/client/testing/served_graph.h"
#include "services/collective/in_process_collective.h"
#include "services/collective/self_collective.h"

namespace espalier::client {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

constexpr int64_t kRowValues = 3;
constexpr double kTableRate = 0.05;

EmbeddingTableOptions SgdTable() {
  return {.rows = sampler::RowSpace::Nodes(NodeTypeId(0)),
          .size = kRowValues,
          .name = "emb",
          .initializer = sampler::Initializer::Uniform(-1, 1, 3),
          .optimizer = {.type = sampler::SparseOptimizerType::kSgd}};
}

std::shared_ptr<sampler::PartitionedGraph> GraphOfServers(const testing::ServedGraph& served) {
  auto session = Connect({.addresses = served.addresses()});
  ESPALIER_CHECK(session.ok()) << session.status().ToString();
  return session->graph;
}

std::unique_ptr<EmbeddingTable> MakeTable(const std::shared_ptr<sampler::PartitionedGraph>& graph,
                                          collective::Collective& group, const EmbeddingTableOptions& options) {
  auto table = EmbeddingTable::Create({graph, &graph->embeddings()}, group, options);
  ESPALIER_CHECK(table.ok()) << table.status().ToString();
  return *std::move(table);
}

std::vector<float> GatheredRows(EmbeddingTable& table, const std::vector<int64_t>& ids) {
  std::vector<float> rows(ids.size() * static_cast<size_t>(table.size()), -7);
  const Status gathered = table.GatherRowsInto(ids, rows);
  ESPALIER_CHECK(gathered.ok()) << gathered.ToString();
  return rows;
}

std::vector<int64_t> IdsOfAllRows(const sampler::PartitionedGraph& graph) {
  std::vector<int64_t> ids(graph.book().num_nodes(NodeTypeId(0)));
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

// Ids of a step and rank, many of them twice; every third step has none.
std::vector<int64_t> IdsOfStep(uint64_t step, uint32_t rank) {
  PhiloxStream random(step, rank);
  std::vector<int64_t> ids;
  for (int i = 0; step % 3 != 2 && i < 40; ++i) ids.push_back(int64_t{random.NextBelow(30)} * 7);
  return ids;
}

std::vector<float> GradientsOfStep(size_t num_rows, uint64_t step, uint32_t rank) {
  PhiloxStream random(100 + step, rank);
  std::vector<float> gradients(num_rows * kRowValues);
  for (float& value : gradients) value = static_cast<float>(random.NextBelow(200)) / 100 - 1;
  return gradients;
}

// One step of Adagrad on a whole table in memory, with the gradients of all ranks; duplicates are added up.
void AdagradStep(uint64_t step, uint32_t num_ranks, std::vector<float>* table, std::vector<double>* sums_of_squares) {
  std::vector<double> gradients(table->size());
  for (uint32_t rank = 0; rank < num_ranks; ++rank) {
    const std::vector<int64_t> ids = IdsOfStep(step, rank);
    const std::vector<float> values = GradientsOfStep(ids.size(), step, rank);
    for (size_t i = 0; i < values.size(); ++i) {
      gradients[static_cast<size_t>(ids[i / kRowValues]) * kRowValues + i % kRowValues] += values[i];
    }
  }
  for (size_t i = 0; i < table->size(); ++i) {
    if (gradients[i] == 0) continue;
    (*sums_of_squares)[i] += gradients[i] * gradients[i];
    (*table)[i] -= static_cast<float>(kTableRate * gradients[i] / (std::sqrt((*sums_of_squares)[i]) + 1e-10));
  }
}

TEST(EmbeddingTableTest, StepsEqualOptimizerOnWholeTable) {
  constexpr uint64_t kSteps = 6;
  for (const uint32_t num_ranks : {1u, 2u}) {
    std::vector<float> of_one_partition;
    for (const uint32_t num_partitions : {1u, 3u}) {
      const testing::ServedGraph served(testing::SmallGraph(), num_partitions);
      const auto graph = GraphOfServers(served);
      auto ranks = collective::MakeInProcessGroup(num_ranks);
      std::vector<OriginalNodeId> originals;
      for (const int64_t id : IdsOfAllRows(*graph)) originals.emplace_back(static_cast<uint64_t>(id));
      const auto globals = graph->ToGlobalIds(NodeTypeId(0), originals, Soon());
      ASSERT_TRUE(globals.ok()) << globals.status().ToString();
      const auto to_globals = [&](const std::vector<int64_t>& ids) {
        std::vector<int64_t> translated;
        for (const int64_t id : ids)
          translated.push_back(static_cast<int64_t>((*globals)[static_cast<size_t>(id)].value));
        return translated;
      };
      EmbeddingTableOptions options = SgdTable();
      options.optimizer = {.type = sampler::SparseOptimizerType::kAdagrad};
      std::vector<float> initial, learned;  // by original id
      const auto run = [&](uint32_t rank) {
        const auto table = MakeTable(graph, *ranks[rank], options);
        if (rank == 0) initial = GatheredRows(*table, to_globals(IdsOfAllRows(*graph)));
        for (uint64_t step = 0; step < kSteps; ++step) {
          std::vector<int64_t> ids = to_globals(IdsOfStep(step, rank));
          std::vector<float> gradients = GradientsOfStep(ids.size(), step, rank);
          const Status stepped = table->Step(ids, gradients, kTableRate);
          EXPECT_TRUE(stepped.ok()) << stepped.ToString();
          // Step has copied the arrays, so changing them has no effect.
          std::fill(ids.begin(), ids.end(), -1);
          std::fill(gradients.begin(), gradients.end(), 1e6f);
        }
        EXPECT_EQ(table->version(), kSteps);
        if (rank == 0) learned = GatheredRows(*table, to_globals(IdsOfAllRows(*graph)));
        const Status dropped = table->Drop();
        EXPECT_TRUE(dropped.ok()) << dropped.ToString();
      };
      {
        std::vector<std::jthread> others;
        for (uint32_t rank = 1; rank < num_ranks; ++rank) others.emplace_back([&run, rank] { run(rank); });
        run(0);
      }
      std::vector<float> expected = initial;
      std::vector<double> sums_of_squares(expected.size());
      for (uint64_t step = 0; step < kSteps; ++step) AdagradStep(step, num_ranks, &expected, &sums_of_squares);
      EXPECT_THAT(learned, Pointwise(FloatNear(1e-5f), expected)) << num_partitions << " " << num_ranks;
      EXPECT_NE(learned, initial);
      if (num_partitions == 1) of_one_partition = learned;
      if (num_ranks == 1) {
        EXPECT_EQ(learned, of_one_partition) << "the same bits";
      }
    }
  }
}

TEST(EmbeddingTableTest, SumsOrAveragesGradientsOfRepeatedId) {
  const testing::ServedGraph served(testing::SmallGraph(), 2);
  const auto graph = GraphOfServers(served);
  collective::SelfCollective group;
  const std::vector<int64_t> ids = {4, 900, 4, 4}, distinct = {4, 900};
  const std::vector<float> gradients = {1, 2, 3, 1, 1, 1, 4, 0, 0, 1, 1, 0};
  const std::vector<float> sum_of_4 = {6, 3, 3};
  for (const auto duplicates : {sampler::DuplicateGradients::kSum, sampler::DuplicateGradients::kMean}) {
    EmbeddingTableOptions options = SgdTable();
    options.optimizer.duplicates = duplicates;
    const auto table = MakeTable(graph, group, options);
    std::vector<float> expected = GatheredRows(*table, distinct);
    ASSERT_TRUE(table->Step(ids, gradients, kTableRate).ok());
    const float count = duplicates == sampler::DuplicateGradients::kSum ? 1 : 3;
    for (size_t i = 0; i < 3; ++i) {
      expected[i] -= static_cast<float>(kTableRate) * sum_of_4[i] / count;
      expected[3 + i] -= static_cast<float>(kTableRate) * 1;
    }
    EXPECT_THAT(GatheredRows(*table, distinct), Pointwise(FloatNear(1e-6f), expected));
    ASSERT_TRUE(table->Drop().ok());
  }
}

TEST(EmbeddingTableTest, GathersRepeatedRowsIntoCallerMemory) {
  const testing::ServedGraph served(testing::SmallGraph(), 3);
  const auto graph = GraphOfServers(served);
  collective::SelfCollective group;
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    EmbeddingTableOptions options = SgdTable();
    options.dtype = dtype;
    const auto table = MakeTable(graph, group, options);
    const std::vector<GlobalRowId> rows = {GlobalRowId(8), GlobalRowId(1400), GlobalRowId(8)};
    const Result<Tensor> read = table->ReadRows(rows);
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_EQ(read->dtype(), dtype);
    EXPECT_THAT(read->shape(), ElementsAre(3, kRowValues));
    std::vector<float> memory(2 + 3 * kRowValues, -7);  // one value before and one after `out`
    const auto out = std::span(memory).subspan(1, 3 * kRowValues);
    const Status gathered = table->GatherRowsInto(std::vector<int64_t>{8, 1400, 8}, out);
    ASSERT_TRUE(gathered.ok()) << gathered.ToString();
    for (size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], read->ValueAsDouble(static_cast<int64_t>(i)));
    EXPECT_TRUE(std::equal(out.begin(), out.begin() + kRowValues, out.end() - kRowValues));
    EXPECT_EQ(memory.front(), -7);
    EXPECT_EQ(memory.back(), -7);
    EXPECT_TRUE(table->GatherRowsInto({}, {}).ok());
    ASSERT_TRUE(table->Drop().ok());
  }
}

TEST(EmbeddingTableTest, RefusesStepWithWrongArrays) {
  const testing::ServedGraph served(testing::SmallGraph(), 2);
  const auto graph = GraphOfServers(served);
  collective::SelfCollective group;
  const auto table = MakeTable(graph, group, SgdTable());
  const std::vector<int64_t> ids = {3, 5}, negative = {3, -1}, too_large = {3, 1500};
  const std::vector<float> before = GatheredRows(*table, ids), ones(2 * kRowValues, 1);
  EXPECT_THAT(table->Step(ids, std::span(ones).first(5), kTableRate),
              InvalidArgument("5 values of gradients, expected 2 rows of 'emb' with 3 values each"));
  EXPECT_THAT(table->Step(negative, ones, kTableRate), InvalidArgument("row -1 of 'emb' does not exist"));
  EXPECT_THAT(table->Step(too_large, ones, kTableRate),
              InvalidArgument("row 1500 of 'emb' does not exist; there are 1500"));
  const std::vector<GlobalRowId> rows = {GlobalRowId(3)};
  EXPECT_THAT(table->Step(rows, Tensor::Zeros(DType::kF64, {1, kRowValues}), kTableRate).message(),
              HasSubstr("gradients F64 [1, 3] for 1 rows of 'emb'"));
  std::vector<float> out(2 * kRowValues);
  EXPECT_THAT(table->GatherRowsInto(ids, std::span(out).first(3)).message(),
              HasSubstr("memory for 3 values, expected 2"));
  EXPECT_EQ(table->GatherRowsInto(negative, out).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(table->GatherRowsInto(too_large, out).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(table->version(), 0u);

  EXPECT_EQ(GatheredRows(*table, ids), before);
  ASSERT_TRUE(table->Step(ids, ones, kTableRate).ok());
  EXPECT_NEAR(GatheredRows(*table, ids)[0], before[0] - kTableRate, 1e-6);
}

// A rank may be one step ahead of another; its next step waits for the acknowledgment of that step.
TEST(EmbeddingTableTest, WaitingStepEndsAtDeadlineAndIsRepeatable) {
  const testing::ServedGraph served(testing::SmallGraph(), 2);
  const auto graph = GraphOfServers(served);
  auto ranks = collective::MakeInProcessGroup(2);
  std::unique_ptr<EmbeddingTable> first, second;
  {
    std::jthread other([&] { second = MakeTable(graph, *ranks[1], SgdTable()); });
    first = MakeTable(graph, *ranks[0], SgdTable());
  }
  const std::vector<int64_t> ids = {3}, no_ids;
  const std::vector<float> ones(kRowValues, 1), no_gradients, before = GatheredRows(*first, ids);
  for (int step = 0; step < 2; ++step) ASSERT_TRUE(first->Step(ids, ones, kTableRate).ok());
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(first->Step(ids, ones, kTableRate, Deadline::After(std::chrono::hours(1)).OrStop(stop.get_token())).code(),
            StatusCode::kCancelled);
  EXPECT_EQ(first->Step(ids, ones, kTableRate, Deadline::After(std::chrono::milliseconds(20))).code(),
            StatusCode::kDeadlineExceeded);
  EXPECT_EQ(first->version(), 2u);

  ASSERT_TRUE(second->Step(no_ids, no_gradients, kTableRate).ok());
  ASSERT_TRUE(first->Step(ids, ones, kTableRate).ok());
  for (int step = 1; step < 3; ++step) ASSERT_TRUE(second->Step(no_ids, no_gradients, kTableRate).ok());
  EXPECT_EQ(first->version(), 3u);
  EXPECT_NEAR(GatheredRows(*first, ids)[0], before[0] - 3 * kTableRate, 1e-6) << "each step once";
  EXPECT_EQ(GatheredRows(*second, ids), GatheredRows(*first, ids));
}

TEST(EmbeddingTableTest, RowsOfARestartedServerAreUnavailable) {
  testing::ServedGraph served(testing::SmallGraph(), 2);
  const auto graph = GraphOfServers(served);
  collective::SelfCollective group;
  const auto table = MakeTable(graph, group, SgdTable());
  served.Restart(1);
  const std::vector<int64_t> ids = IdsOfAllRows(*graph);
  std::vector<float> out(ids.size() * kRowValues);
  const Status lost = table->GatherRowsInto(ids, out);
  EXPECT_EQ(lost.code(), StatusCode::kUnavailable);
  EXPECT_THAT(lost.message(), HasSubstr("has lost the rows"));
}

TEST(EmbeddingTableTest, NoStepSucceedsAfterUndeliveredStep) {
  testing::ServedGraph served(testing::SmallGraph(), 2);
  const auto graph = GraphOfServers(served);
  collective::SelfCollective group;
  const auto table = MakeTable(graph, group, SgdTable());
  const std::vector<int64_t> ids = {3};
  const std::vector<float> ones(kRowValues, 1);
  ASSERT_TRUE(table->Step(ids, ones, kTableRate).ok());
  ASSERT_TRUE(table->AwaitSteps().ok());
  served.Restart(0);
  served.Restart(1);
  ASSERT_TRUE(table->Step(ids, ones, kTableRate).ok()) << "it is sent in the background";
  for (int call = 0; call < 2; ++call) EXPECT_EQ(table->AwaitSteps().code(), StatusCode::kUnavailable) << call;
  EXPECT_EQ(table->Step(ids, ones, kTableRate).code(), StatusCode::kUnavailable);
  EXPECT_EQ(table->version(), 2u);
}

}  // namespace
}  // namespace espalier::client
