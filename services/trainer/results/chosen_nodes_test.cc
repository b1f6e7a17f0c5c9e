#include "services/trainer/results/chosen_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/format/files/npy_writer.h"
#include "services/graph/generators.h"
#include "services/shard/testing/test_graph.h"
#include "services/storage/memory_store.h"
#include "services/storage/testing/put_text.h"

namespace espalier::trainer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A graph with 20 nodes of a single type, "node".
class ChosenNodesTest : public testing::Test {
 protected:
  Result<ChosenNodes> Read() { return ReadChosenNodes({store_, "chosen"}, graph_.graph->book()); }
  Result<ChosenNodes> Read(const Tensor& ids) {
    EXPECT_TRUE(format::WriteNpy(*store_, "chosen/node.npy", ids).ok());
    return Read();
  }

  std::shared_ptr<storage::MemoryStore> store_ = std::make_shared<storage::MemoryStore>();
  shard::testing::TestGraph graph_ = shard::testing::MakeTestGraph(
      *graph::GeneratePowerLawGraph({.num_nodes = 20, .num_edges = 40, .community_size = 10, .num_classes = 2}, 1), 2,
      1);
};

TEST_F(ChosenNodesTest, KeepsTheOrder) {
  const Result<ChosenNodes> chosen = Read(Tensor::FromVector<int32_t>({7, 0, 19}));
  ASSERT_TRUE(chosen.ok()) << chosen.status().ToString();
  EXPECT_THAT(chosen->at(NodeTypeId(0)), ElementsAre(OriginalNodeId(7), OriginalNodeId(0), OriginalNodeId(19)));
}

TEST_F(ChosenNodesTest, RefusesInvalidNodes) {
  const std::pair<Tensor, const char*> bad[] = {
      {Tensor::FromVector<int64_t>({3, -1}), "chosen/node.npy: id -1 at row 1"},
      {Tensor::FromVector<uint64_t>({20}), "id 20 at row 0"},
      {Tensor::FromVector<uint64_t>({~uint64_t{0}}), "at row 0"},
      {Tensor::FromVector<int64_t>({5, 2, 5}), "id 5 occurs twice"},
      {Tensor::FromVector<float>({1}), "expected integers [n], found F32"},
      {Tensor::FromVector<int64_t>({1, 2}, {1, 2}), "with 2 dimensions"}};
  for (const auto& [ids, words] : bad) {
    const Status status = Read(ids).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << words;
    EXPECT_THAT(status.message(), HasSubstr(words));
  }
  ASSERT_TRUE(storage::PutText(*store_, "chosen/node.npy", "not an array").ok());
  EXPECT_THAT(Read().status().message(), HasSubstr("chosen/node.npy"));
  std::string cut = *[&] {
    EXPECT_TRUE(format::WriteNpy(*store_, "x.npy", Tensor::FromVector<int64_t>({1, 2})).ok());
    return store_->Get("x.npy");
  }();
  for (; !cut.empty(); cut.pop_back()) {
    if (cut.size() % 8 != 7) continue;
    ASSERT_TRUE(storage::PutText(*store_, "chosen/node.npy", cut).ok());
    EXPECT_FALSE(Read().ok()) << cut.size();
  }
}

TEST_F(ChosenNodesTest, NamesExpectedFiles) {
  const Status status = Read().status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("chosen has none of node.npy"));
}

}  // namespace
}  // namespace espalier::trainer
