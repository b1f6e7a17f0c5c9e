// Writes to tensors and gradients of learnable rows over connections that are closed in the middle of messages, delayed
// and repeated, while names are created and dropped. Each acknowledged change is applied exactly once, and a read after
// the acknowledgment sees it. A model in this process has the expected values.
//
// ESPALIER_TENSOR_OPERATIONS: number of operations, by default 4000, a million in the ctest entries with the label
// `figures`; a step of gradients counts as ten.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "services/base/philox.h"
#include "services/client/tensors/dist_tensor.h"
#include "services/client/testing/open_served.h"
#include "services/rpc/testing/fault_proxy.h"
#include "services/sampler/routing/embedding_store.h"

namespace espalier::client {
namespace {

using rpc::testing::FaultProxy;
using testing::ServedGraph;

constexpr uint32_t kClients = 4;
constexpr uint32_t kPartitions = 2;
constexpr uint64_t kModelRows = 400;
constexpr int64_t kModelWidth = 3;

uint64_t NumOperations() {
  const char* const text = std::getenv("ESPALIER_TENSOR_OPERATIONS");
  return text == nullptr ? 4000 : std::strtoull(text, nullptr, 10);
}

std::unique_ptr<DistGraph> OpenThrough(std::vector<std::string> addresses) {
  return testing::OpenServed(std::move(addresses), std::chrono::minutes(5));
}

// Expected final state of the servers after the operations of one client.
struct Model {
  std::vector<int64_t> sums = std::vector<int64_t>(kModelRows * kModelWidth);
  std::vector<int64_t> largest = std::vector<int64_t>(kModelRows);
  std::map<uint64_t, int64_t> last_written;  // of the rows that this client writes
};

Result<DistTensor> OpenModelTensor(const DistGraph& graph, const char* name, std::vector<int64_t> row_shape) {
  return DistTensor::Create(graph, {.rows = RowSpace::Own(kModelRows),
                                    .row_shape = std::move(row_shape),
                                    .dtype = DType::kI64,
                                    .name = name,
                                    .lifetime = Lifetime::kPersistent});
}

// One process of a job: runs its operations one after another, each after the acknowledgment of the previous one.
class Worker {
 public:
  Worker(uint32_t number, std::vector<std::string> addresses)
      : number_(number), random_(17, number), graph_(OpenThrough(std::move(addresses))) {}

  void Run(uint64_t num_operations) {
    auto sums = OpenModelTensor(*graph_, "sums", {kModelWidth});
    auto largest = OpenModelTensor(*graph_, "largest", {});
    auto written = OpenModelTensor(*graph_, "written", {});
    ASSERT_TRUE(sums.ok() && largest.ok() && written.ok()) << sums.status().ToString();
    for (uint64_t i = 0; i < num_operations && !::testing::Test::HasFatalFailure(); ++i) {
      if (i % 50 == 0) MakeUniteAndDrop();
      switch (random_.NextBelow(8)) {
        case 0: WriteAndRead(*written); break;
        case 1: TakeLargest(*largest); break;
        default: Add(*sums);
      }
    }
  }
  const Model& model() const { return model_; }

 private:
  std::vector<GlobalRowId> SomeRows() {
    std::vector<GlobalRowId> rows(1 + random_.NextBelow(6));  // with repetitions
    for (GlobalRowId& row : rows) row = GlobalRowId(random_.NextBelow(kModelRows));
    return rows;
  }

  void Add(DistTensor& sums) {
    const std::vector<GlobalRowId> rows = SomeRows();
    std::vector<int64_t> values(rows.size() * kModelWidth);
    for (int64_t& value : values) value = int64_t{random_.NextBelow(1000)} - 500;
    for (size_t i = 0; i < values.size(); ++i)
      model_.sums[rows[i / kModelWidth].value * kModelWidth + i % kModelWidth] += values[i];
    const Tensor rows_of_values = Tensor::FromVector(values, {static_cast<int64_t>(rows.size()), kModelWidth});
    const Status added = sums.AddRows(rows, rows_of_values);
    ASSERT_TRUE(added.ok()) << added.ToString();
  }

  void TakeLargest(DistTensor& largest) {
    const std::vector<GlobalRowId> rows = SomeRows();
    std::vector<int64_t> values(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      values[i] = random_.NextBelow(1'000'000);
      model_.largest[rows[i].value] = std::max(model_.largest[rows[i].value], values[i]);
    }
    const Status taken = largest.MaxRows(rows, Tensor::FromVector(values));
    ASSERT_TRUE(taken.ok()) << taken.ToString();
  }

  // Each row has one writer: the client whose number is the row modulo the number of clients. A write that is applied
  // again later would restore an old value.
  void WriteAndRead(DistTensor& written) {
    const uint64_t row = random_.NextBelow(kModelRows / kClients) * kClients + number_;
    const std::vector<GlobalRowId> rows = {GlobalRowId(row)};
    const int64_t value = ++num_writes_;
    const Status status = written.WriteRows(rows, Tensor::FromVector<int64_t>({value}));
    ASSERT_TRUE(status.ok()) << status.ToString();
    model_.last_written[row] = value;
    const Result<Tensor> read = written.ReadRows(rows);
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    ASSERT_EQ(read->ValueAsInt(0), value);
  }

  // Reuses names: after an acknowledged drop the tensor does not exist, a created tensor is new, and Or finds both
  // tensors.
  void MakeUniteAndDrop() {
    const DistTensorOptions options{.rows = RowSpace::Own(20),
                                    .dtype = DType::kU32,
                                    .name = "masks-" + std::to_string(number_),
                                    .lifetime = Lifetime::kPersistent};
    auto mask = DistTensor::Create(*graph_, options);
    ASSERT_TRUE(mask.ok()) << mask.status().ToString();
    ASSERT_TRUE(mask->made_by_this());
    DistTensorOptions seven = options;
    seven.name = {};
    seven.initializer = Initializer::Constant(7);
    const auto bits = DistTensor::Create(*graph_, seven);
    ASSERT_TRUE(bits.ok()) << bits.status().ToString();
    const Status united = mask->Or(*bits);
    ASSERT_TRUE(united.ok()) << united.ToString();
    const auto sum = mask->Sum();
    ASSERT_TRUE(sum.ok()) << sum.status().ToString();
    ASSERT_EQ(sum->ValueAsInt(0), 20 * 7);
    ASSERT_TRUE(DistTensor::Drop(*graph_, seven.rows, bits->name()).ok());
    ASSERT_TRUE(DistTensor::Drop(*graph_, options.rows, options.name).ok());
    ASSERT_EQ(mask->Sum().status().code(), StatusCode::kNotFound);
  }

  const uint32_t number_;
  PhiloxStream random_;
  const std::unique_ptr<DistGraph> graph_;
  Model model_;
  int64_t num_writes_ = 0;
};

Tensor AllRows(const DistTensor& tensor) {
  std::vector<GlobalRowId> rows;
  for (uint64_t row = 0; row < kModelRows; ++row) rows.emplace_back(row);
  Result<Tensor> read = tensor.ReadRows(rows);
  ESPALIER_CHECK(read.ok()) << read.status().ToString();
  return *std::move(read);
}

// A server restarts behind the proxies: lost rows are never read as if they existed.
TEST(AppliedOnceTest, RestartIsReported) {
  ServedGraph served(testing::SmallGraph(), kPartitions);
  std::vector<std::unique_ptr<FaultProxy>> proxies;
  std::vector<std::string> addresses;
  for (const std::string& server : served.addresses()) {
    proxies.push_back(std::make_unique<FaultProxy>(rpc::testing::FaultProxyOptions{
        .server = server, .seed = 90 + proxies.size(), .cut = 0.02, .delay = 0.02, .repeat = 0.7}));
    addresses.push_back(proxies.back()->address());
  }
  const auto graph = OpenThrough(addresses);
  for (const uint32_t lost : {1u, 0u}) {
    auto sums = OpenModelTensor(*graph, "sums", {});
    ASSERT_TRUE(sums.ok()) << sums.status().ToString();
    const std::vector<GlobalRowId> rows = {GlobalRowId(lost == 0 ? 0 : kModelRows - 1)};  // on the restarted server
    for (int i = 1; i <= 50; ++i) {
      ASSERT_TRUE(sums->AddRows(rows, Tensor::FromVector<int64_t>({1})).ok());
      const auto read = sums->ReadRows(rows);
      ASSERT_TRUE(read.ok()) << read.status().ToString();
      ASSERT_EQ(read->ValueAsInt(0), i);
    }
    served.Restart(lost);
    EXPECT_EQ(sums->AddRows(rows, Tensor::FromVector<int64_t>({1})).code(), StatusCode::kNotFound);
    EXPECT_EQ(OpenModelTensor(*graph, "sums", {}).status().code(), StatusCode::kNotFound);
    EXPECT_EQ(sums->ReadRows(rows).status().code(), StatusCode::kNotFound);
    ASSERT_TRUE(DistTensor::Drop(*graph, RowSpace::Own(kModelRows), "sums").ok());
  }
}

using Proxies = std::vector<std::unique_ptr<FaultProxy>>;

// Proxies between a client and the servers, one for each server.
std::vector<std::string> ThroughFaults(const ServedGraph& served, Proxies* proxies) {
  std::vector<std::string> addresses;
  for (const std::string& server : served.addresses()) {
    proxies->push_back(std::make_unique<FaultProxy>(rpc::testing::FaultProxyOptions{
        .server = server, .seed = proxies->size(), .cut = 0.01, .delay = 0.02, .repeat = 0.7}));
    addresses.push_back(proxies->back()->address());
  }
  return addresses;
}

void ExpectFaults(const Proxies& proxies) {
  uint64_t cuts = 0, delays = 0, repeats = 0;
  for (const auto& proxy : proxies) {
    cuts += proxy->cuts();
    delays += proxy->delays();
    repeats += proxy->repeats();
  }
  EXPECT_GT(cuts, 0u);
  EXPECT_GT(delays, 0u);
  EXPECT_GT(repeats, 0u);
  ::testing::Test::RecordProperty("cuts", std::to_string(cuts));
  ::testing::Test::RecordProperty("repeats", std::to_string(repeats));
}

TEST(AppliedOnceTest, NoAcknowledgedChangeIsLostOrDoubled) {
  ServedGraph served(testing::SmallGraph(), kPartitions);
  Proxies proxies;
  std::vector<std::unique_ptr<Worker>> workers;
  for (uint32_t client = 0; client < kClients; ++client) {
    workers.push_back(std::make_unique<Worker>(client, ThroughFaults(served, &proxies)));
  }

  {
    std::vector<std::jthread> threads;
    for (const auto& worker : workers) {
      threads.emplace_back([&worker] { worker->Run(NumOperations() / kClients); });
    }
  }

  ExpectFaults(proxies);
  // Repeated messages may still be in the servers' socket buffers; they have no effect when they are read.
  proxies.clear();
  const auto direct = OpenThrough(served.addresses());
  const Tensor sums = AllRows(*OpenModelTensor(*direct, "sums", {kModelWidth}));
  const Tensor largest = AllRows(*OpenModelTensor(*direct, "largest", {}));
  const Tensor written = AllRows(*OpenModelTensor(*direct, "written", {}));
  for (uint64_t i = 0; i < kModelRows * kModelWidth; ++i) {
    int64_t expected = 0;
    for (const auto& worker : workers) expected += worker->model().sums[i];
    ASSERT_EQ(sums.ValueAsInt(static_cast<int64_t>(i)), expected) << "element " << i;
  }
  for (uint64_t row = 0; row < kModelRows; ++row) {
    int64_t expected = 0;
    for (const auto& worker : workers) expected = std::max(expected, worker->model().largest[row]);
    ASSERT_EQ(largest.ValueAsInt(static_cast<int64_t>(row)), expected) << "row " << row;
    const auto& last = workers[row % kClients]->model().last_written;
    const auto entry = last.find(row);
    ASSERT_EQ(written.ValueAsInt(static_cast<int64_t>(row)), entry == last.end() ? 0 : entry->second) << "row " << row;
  }
}

// Rows of three values with initial value 1, updated by SGD with learning rate 0.5: integer gradients keep the values
// exact in F32.
sampler::EmbeddingSpec RowsOfDescent() {
  sampler::EmbeddingSpec spec{.id = {.rows = RowSpace::Own(kModelRows), .name = "learned"},
                              .width = kModelWidth,
                              .initializer = Initializer::Constant(1),
                              .optimizer = {.type = sampler::SparseOptimizerType::kSgd},
                              .num_trainers = kClients};
  spec.id.creation = uint64_t{5} << 32;
  return spec;
}

// Gradients of a rank for a step: some rows twice, and none in every fourth step.
struct GradientsOfRank {
  std::vector<GlobalRowId> rows;
  std::vector<float> values;  // [rows, kModelWidth]
};

GradientsOfRank GradientsAt(uint32_t rank, uint64_t step) {
  PhiloxStream random(31, step * kClients + rank);
  GradientsOfRank gradients;
  const uint32_t num_rows = (step + rank) % 4 == 0 ? 0 : 1 + random.NextBelow(6);
  for (uint32_t i = 0; i < num_rows; ++i) gradients.rows.emplace_back(random.NextBelow(kModelRows));
  for (size_t i = 0; i < gradients.rows.size() * kModelWidth; ++i) {
    gradients.values.push_back(static_cast<float>(random.NextBelow(1000)) - 500);
  }
  return gradients;
}

// Takes part in the steps as one rank; returns all rows after each step.
void DescendAndCheck(uint32_t rank, const DistGraph& graph, uint64_t num_steps) {
  const sampler::EmbeddingSpec spec = RowsOfDescent();
  sampler::EmbeddingStore& store = graph.partitions().embeddings();
  const Status created = store.CreateEmbedding(spec, graph.CallDeadline());
  ASSERT_TRUE(created.ok()) << created.ToString();
  std::vector<GlobalRowId> all;
  for (uint64_t row = 0; row < kModelRows; ++row) all.emplace_back(row);
  std::vector<float> model(kModelRows * kModelWidth, 1);
  for (uint64_t step = 0; step < num_steps; ++step) {
    const GradientsOfRank mine = GradientsAt(rank, step);
    const Tensor values = Tensor::FromVector(mine.values, {static_cast<int64_t>(mine.rows.size()), kModelWidth});
    const Status pushed = testing::AwaitStatus([&](sampler::DoneStatus done) {
      store.PushGradients(spec, {step, Rank(rank), 0.5}, mine.rows, values, graph.CallDeadline(), std::move(done));
    });
    ASSERT_TRUE(pushed.ok()) << "step " << step << ": " << pushed.ToString();
    for (uint32_t other = 0; other < kClients; ++other) {
      const GradientsOfRank sent = GradientsAt(other, step);
      for (size_t i = 0; i < sent.values.size(); ++i) {
        model[sent.rows[i / kModelWidth].value * kModelWidth + i % kModelWidth] -= 0.5f * sent.values[i];
      }
    }
    // Barrier: all servers have applied the step.
    const Result<Tensor> read = store.ReadEmbedding(spec, step + 1, all, graph.CallDeadline());
    ASSERT_TRUE(read.ok()) << "step " << step << ": " << read.status().ToString();
    ASSERT_TRUE(std::ranges::equal(read->values<float>(), model)) << "rank " << rank << " after step " << step;
  }
}

TEST(AppliedOnceTest, GradientsOfAStepCountOnce) {
  ServedGraph served(testing::SmallGraph(), kPartitions);
  Proxies proxies;
  std::vector<std::unique_ptr<DistGraph>> graphs;
  for (uint32_t rank = 0; rank < kClients; ++rank) graphs.push_back(OpenThrough(ThroughFaults(served, &proxies)));
  const uint64_t num_steps = NumOperations() / kClients / 10;
  {
    std::vector<std::jthread> ranks;
    for (uint32_t rank = 0; rank < kClients; ++rank) {
      ranks.emplace_back([&, rank] { DescendAndCheck(rank, *graphs[rank], num_steps); });
    }
  }
  ExpectFaults(proxies);
  // Repeated messages may be read only now and have no effect.
  const sampler::EmbeddingSpec spec = RowsOfDescent();
  const std::vector<GlobalRowId> rows = {GlobalRowId(0), GlobalRowId(kModelRows - 1)};
  const auto after_last = [&](const DistGraph& graph) {
    const auto read = graph.partitions().embeddings().ReadEmbedding(spec, num_steps, rows, graph.CallDeadline());
    ESPALIER_CHECK(read.ok()) << read.status().ToString();
    return std::vector<float>(read->values<float>().begin(), read->values<float>().end());
  };
  const std::vector<float> before = after_last(*graphs[0]);
  graphs.clear();
  proxies.clear();
  EXPECT_EQ(after_last(*OpenThrough(served.addresses())), before);
}

}  // namespace
}  // namespace espalier::client
