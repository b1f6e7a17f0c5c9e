// Runs the example of docs/dist-tensors.md. docs/tests/examples_test.py compares this file with the page.
#include <gtest/gtest.h>

#include "services/client/tensors/dist_tensor.h"
#include "services/client/testing/served_graph.h"

namespace example {

// [example]
using namespace espalier;
using namespace espalier::client;

// How often each paper was a neighbor of one of `seeds`, over all programs that call this.
Result<DistTensor> CountVisits(const DistGraph& graph, NodeTypeId paper, const std::vector<GlobalNodeId>& seeds,
                               EdgeTypeId cites) {
  ASSIGN_OR_RETURN(DistTensor visits, DistTensor::Create(graph, {.rows = RowSpace::Nodes(paper),
                                                                 .dtype = DType::kI64,
                                                                 .name = "visits",
                                                                 .lifetime = Lifetime::kPersistent}));
  DrawOptions draws;
  draws.seed = 7;
  ASSIGN_OR_RETURN(const Frontier drawn, graph.SampleNeighbors({{paper, seeds}}, {{cites, 10}}, draws));
  const std::vector<GlobalNodeId>& papers = drawn.relations[0].sources;
  const Tensor ones = Tensor::FromVector(std::vector<int64_t>(papers.size(), 1));
  RETURN_IF_ERROR(visits.AddRows(ToRowIds(papers), ones));  // a paper that occurs twice is counted twice
  return visits;
}
// [example]

TEST(DistTensorExampleTest, CountsVisitsOfTwoPrograms) {
  client::testing::ServedGraph served(client::testing::SmallGraph(), 2);
  Context context;
  context.session.addresses = served.addresses();
  std::vector<GlobalNodeId> seeds;
  for (uint64_t node = 0; node < 100; ++node) seeds.emplace_back(node);
  int64_t expected = 0;
  for (int program = 0; program < 2; ++program) {
    const auto graph = DistGraph::Open(context);
    ASSERT_TRUE(graph.ok()) << graph.status().ToString();
    const auto visits = CountVisits(**graph, NodeTypeId(0), seeds, EdgeTypeId(0));
    ASSERT_TRUE(visits.ok()) << visits.status().ToString();
    DrawOptions draws;
    draws.seed = 7;
    const auto drawn = (**graph).SampleNeighbors({{NodeTypeId(0), seeds}}, {{EdgeTypeId(0), 10}}, draws);
    ASSERT_TRUE(drawn.ok());
    expected += static_cast<int64_t>(drawn->relations[0].sources.size());
    EXPECT_EQ(visits->Sum()->ValueAsInt(0), expected);
  }
}

}  // namespace example
