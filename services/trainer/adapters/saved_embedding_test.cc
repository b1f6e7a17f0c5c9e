// Training of saved learnable rows resumes with another number of partitions or ranks as if it had not been
// interrupted.
#include "services/client/tensors/saved_embeddings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <thread>

#include "services/base/philox.h"
#include "services/client/testing/open_served.h"
#include "services/client/testing/tensors_everywhere.h"
#include "services/collective/in_process_collective.h"
#include "services/collective/self_collective.h"
#include "services/storage/testing/temporary_folder.h"
#include "services/trainer/adapters/dist_embedding.h"

namespace espalier::adapters {
namespace {

using client::SavedEmbedding;
using client::testing::ServedGraph;
using sampler::RowSpace;
using sampler::SparseOptimizerType;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr double kRateOfSteps = 0.05;

// A partitioned graph on servers, with an order of rows that does not depend on the partitioning.
struct Cut {
  explicit Cut(uint32_t num_partitions)
      : served(client::testing::SmallTypedGraph(), num_partitions),
        graph(client::testing::OpenServed(served.addresses())) {}

  // Returns the global ids in the order of original ids, i64 [rows].
  torch::Tensor IdsInOrder(const RowSpace& rows) const {
    std::map<uint64_t, int64_t> by_original;
    if (rows.of == sampler::RowsOf::kOwn) {
      for (uint64_t row = 0; row < rows.num_own_rows; ++row) by_original[row] = static_cast<int64_t>(row);
    } else {
      const std::vector<uint64_t> originals = client::testing::ListOriginalIds(served.local(), rows);
      for (size_t row = 0; row < originals.size(); ++row) by_original[originals[row]] = static_cast<int64_t>(row);
    }
    std::vector<int64_t> ids;
    for (const auto& [original, id] : by_original) ids.push_back(id);
    return torch::tensor(ids, torch::kInt64);
  }

  const ServedGraph served;
  const std::unique_ptr<client::DistGraph> graph;
};

std::unique_ptr<DistEmbedding> MakeOrLoad(const Cut& cut, collective::Collective& group,
                                          const DistEmbeddingOptions& options,
                                          sampler::SavedLearnableRows* kept = nullptr) {
  auto embedding = DistEmbedding::Create(cut.graph->embeddings(), group, options, kept);
  ESPALIER_CHECK(embedding.ok()) << embedding.status().ToString();
  return *std::move(embedding);
}

// Takes the steps [first, last) of this rank. The loss depends only on original ids; all ranks have equal shares of it.
void TakeSteps(const Cut& cut, DistEmbedding& embedding, collective::Collective& group, const RowSpace& rows,
               uint64_t first, uint64_t last) {
  const torch::Tensor ids = cut.IdsInOrder(rows);
  for (uint64_t step = first; step < last; ++step) {
    PhiloxStream random(23, step);
    std::vector<int64_t> places;
    for (int i = 0; i < 24; ++i) places.push_back(random.NextBelow(static_cast<uint32_t>(ids.numel())));
    const int64_t share = 24 / group.size(), begin = share * group.rank().value;
    const torch::Tensor mine = torch::tensor(places, torch::kInt64).slice(0, begin, begin + share);
    auto read = embedding(ids.index_select(0, mine));
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    (read->pow(2).sum() + read->sum()).backward();
    const Status stepped = embedding.Step(kRateOfSteps);
    ASSERT_TRUE(stepped.ok()) << stepped.ToString();
    ASSERT_TRUE(group.Barrier(Soon()).ok());
  }
}

torch::Tensor RowsInOrder(const Cut& cut, DistEmbedding& embedding, const RowSpace& rows) {
  const torch::NoGradGuard no_grad;
  auto read = embedding(cut.IdsInOrder(rows));
  ESPALIER_CHECK(read.ok()) << read.status().ToString();
  return *std::move(read);
}

DistEmbeddingOptions RowsOfFive(const RowSpace& rows, SparseOptimizerType type, DType dtype = DType::kF32) {
  return {.rows = rows,
          .size = 5,
          .name = "emb",
          .initializer = sampler::Initializer::Uniform(-1, 1, 3),
          .optimizer = {.type = type, .initial_accumulator = type == SparseOptimizerType::kAdagrad ? 0.25 : 0},
          .dtype = dtype};
}

struct KindOfRows {
  RowSpace rows;
  SparseOptimizerType type;
  DType dtype = DType::kF32;
};

void PrintTo(const KindOfRows& kind, std::ostream* os) {
  *os << ToString(kind.dtype) << " rows by " << ToString(kind.type);
}

class SavedEmbeddingTest : public ::testing::TestWithParam<KindOfRows> {};

TEST_P(SavedEmbeddingTest, ResumesOverOtherPartitioningWithSameBits) {
  const DistEmbeddingOptions options = RowsOfFive(GetParam().rows, GetParam().type, GetParam().dtype);
  collective::SelfCollective group;
  const Cut two(2), three(3), one(1);
  const auto undisturbed = MakeOrLoad(two, group, options);
  TakeSteps(two, *undisturbed, group, options.rows, 0, 7);
  const torch::Tensor expected = RowsInOrder(two, *undisturbed, options.rows);

  const storage::TemporaryFolder folder;
  const std::string uri = folder.path() + "/saved";
  const auto before = MakeOrLoad(three, group, options);
  TakeSteps(three, *before, group, options.rows, 0, 3);
  const auto visits =
      client::DistTensor::Create(*three.graph, {.rows = RowSpace::Own(10), .dtype = DType::kI64, .name = "visits"});
  ASSERT_TRUE(visits.ok()) << visits.status().ToString();
  const Status saved =
      client::SaveTensors(*three.graph, {{RowSpace::Own(), "visits"}}, uri,
                          {.notes = {{"epoch", "3"}}, .embeddings = {before->Now()}, .bytes_per_file = 4000});
  ASSERT_TRUE(saved.ok()) << saved.ToString();
  TakeSteps(three, *before, group, options.rows, 3, 5);  // after the save, so not part of it

  const auto kept = SavedEmbedding::Open(*one.graph, uri, {options.rows, "emb"});
  ASSERT_TRUE(kept.ok()) << kept.status().ToString();
  EXPECT_EQ((*kept)->version(), 3u);
  const auto after = MakeOrLoad(one, group, options, kept->get());
  EXPECT_EQ(after->version(), 3u);
  TakeSteps(one, *after, group, options.rows, 3, 7);
  EXPECT_TRUE(torch::equal(RowsInOrder(one, *after, options.rows), expected));

  const auto loaded = client::LoadTensors(*one.graph, uri);
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  ASSERT_EQ(loaded->tensors.size(), 1u) << "embeddings are no tensors";
  EXPECT_EQ(loaded->tensors[0].name(), "visits");
  EXPECT_EQ(loaded->notes.at("epoch"), "3");
}

INSTANTIATE_TEST_SUITE_P(Rows, SavedEmbeddingTest,
                         ::testing::Values(KindOfRows{RowSpace::Nodes(NodeTypeId(1)), SparseOptimizerType::kAdam},
                                           KindOfRows{RowSpace::Nodes(NodeTypeId(0)),
                                                      SparseOptimizerType::kRowWiseAdagrad, DType::kBF16},
                                           KindOfRows{RowSpace::Edges(EdgeTypeId(0)), SparseOptimizerType::kAdagrad},
                                           KindOfRows{RowSpace::Own(50), SparseOptimizerType::kSgd}));

// Two ranks stop; then one rank, and later three ranks, resume.
TEST(SavedEmbeddingRanksTest, ResumesWithOtherWorldSize) {
  const DistEmbeddingOptions options = RowsOfFive(RowSpace::Nodes(NodeTypeId(1)), SparseOptimizerType::kAdagrad);
  const Cut undisturbed_cut(2);
  collective::SelfCollective alone;
  const auto undisturbed = MakeOrLoad(undisturbed_cut, alone, options);
  TakeSteps(undisturbed_cut, *undisturbed, alone, options.rows, 0, 6);
  const torch::Tensor expected = RowsInOrder(undisturbed_cut, *undisturbed, options.rows);

  const storage::TemporaryFolder folder;
  torch::Tensor learned;
  // Resumes from the rows saved after step `first` (0: new rows), trains up to step `last` and saves. Only rank 0 opens
  // saved rows and saves.
  const auto run = [&](uint32_t num_ranks, uint64_t first, uint64_t last) {
    const Cut cut(num_ranks + 1);
    auto groups = collective::MakeInProcessGroup(num_ranks);
    std::vector<std::jthread> ranks;
    for (uint32_t rank = 0; rank < num_ranks; ++rank) {
      ranks.emplace_back([&, rank] {
        std::unique_ptr<SavedEmbedding> kept;
        if (rank == 0 && first > 0) {
          auto opened =
              SavedEmbedding::Open(*cut.graph, folder.path() + "/" + std::to_string(first), {options.rows, "emb"});
          ESPALIER_CHECK(opened.ok()) << opened.status().ToString();
          kept = *std::move(opened);
        }
        const auto embedding = MakeOrLoad(cut, *groups[rank], options, kept.get());
        EXPECT_EQ(embedding->version(), first);
        TakeSteps(cut, *embedding, *groups[rank], options.rows, first, last);
        if (rank == 0) {
          const Status saved = client::SaveTensors(*cut.graph, {}, folder.path() + "/" + std::to_string(last),
                                                   {.embeddings = {embedding->Now()}});
          EXPECT_TRUE(saved.ok()) << saved.ToString();
          learned = RowsInOrder(cut, *embedding, options.rows);
        }
        EXPECT_TRUE(embedding->Drop().ok());
      });
    }
  };
  run(2, 0, 2);
  run(1, 2, 4);
  run(3, 4, 6);
  EXPECT_TRUE(torch::allclose(learned, expected, 1e-4, 1e-5));
}

TEST(SavedEmbeddingErrorTest, NamesMismatchAndLeavesNoTensors) {
  const DistEmbeddingOptions options = RowsOfFive(RowSpace::Nodes(NodeTypeId(1)), SparseOptimizerType::kAdam);
  const storage::TemporaryFolder folder;
  const std::string uri = folder.path() + "/saved";
  const Cut cut(2);
  collective::SelfCollective group;
  {
    const auto embedding = MakeOrLoad(cut, group, options);
    const auto twice = client::SaveTensors(*cut.graph, {}, uri, {.embeddings = {embedding->Now(), embedding->Now()}});
    EXPECT_THAT(twice.message(), AllOf(HasSubstr("the embedding 'emb'"), HasSubstr("named twice")));
    ASSERT_TRUE(
        client::SaveTensors(*cut.graph, {}, uri, {.embeddings = {embedding->Now()}, .bytes_per_file = 4000}).ok());
    ASSERT_TRUE(embedding->Drop().ok());
  }
  const auto open = [&](const RowSpace& rows, const std::string& name) {
    return SavedEmbedding::Open(*cut.graph, uri, {rows, name});
  };
  const Status none = open(options.rows, "other").status();
  EXPECT_EQ(none.code(), StatusCode::kNotFound);
  EXPECT_THAT(none.message(), HasSubstr("saved embeddings: 'emb' of nodes/paper"));
  EXPECT_EQ(open(RowSpace::Nodes(NodeTypeId(0)), "emb").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(SavedEmbedding::Open(*cut.graph, folder.path() + "/none", {options.rows, "emb"}).status().code(),
            StatusCode::kNotFound);

  const auto kept = open(options.rows, "emb");
  ASSERT_TRUE(kept.ok()) << kept.status().ToString();
  const auto refusal = [&](const DistEmbeddingOptions& wanted) {
    return DistEmbedding::Create(cut.graph->embeddings(), group, wanted, kept->get()).status();
  };
  DistEmbeddingOptions other = options;
  other.optimizer.type = SparseOptimizerType::kAdamW;  // its state has the same width
  EXPECT_EQ(refusal(other).code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(refusal(other).message(), AllOf(HasSubstr("for Adam;"), HasSubstr("for AdamW")));
  other = options;
  other.size = 6;
  EXPECT_THAT(refusal(other).message(), AllOf(HasSubstr("5 values"), HasSubstr("expected 800 F32 rows")));
  other = options;
  other.dtype = DType::kF16;
  EXPECT_EQ(refusal(other).code(), StatusCode::kFailedPrecondition);

  std::vector<std::filesystem::path> of_state;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(uri)) {
    if (entry.path().string().find("emb.state/") != std::string::npos) of_state.push_back(entry.path());
  }
  ASSERT_GT(of_state.size(), 2u);
  const std::string last = std::max_element(of_state.begin(), of_state.end())->string();
  std::filesystem::resize_file(last, std::filesystem::file_size(last) - 1);
  EXPECT_EQ(refusal(options).code(), StatusCode::kDataLoss);
  EXPECT_EQ(client::DistTensor::Open(*cut.graph, options.rows, "emb").status().code(), StatusCode::kNotFound);
  std::filesystem::remove(last);
  EXPECT_THAT(refusal(options).message(), HasSubstr("is missing"));
  EXPECT_EQ(MakeOrLoad(cut, group, options)->version(), 0u) << "the name is free";
}

}  // namespace
}  // namespace espalier::adapters
