// Runs the example of docs/learnable-rows.md. docs/tests/examples_test.py compares this file with the page.
#include <gtest/gtest.h>

#include "services/client/embedding/embedding_table.h"
#include "services/client/graph/dist_graph.h"
#include "services/client/testing/served_graph.h"
#include "services/collective/self_collective.h"

namespace example {

// [example]
using namespace espalier;
using namespace espalier::client;

// Moves the rows of `ids` one step towards `targets`, float [ids.size(), table.size()]. Returns the sum of the squared
// distances before the step, of this rank's ids.
Result<double> MoveTowards(EmbeddingTable& table, const std::vector<int64_t>& ids, const std::vector<float>& targets) {
  std::vector<float> rows(targets.size());  // or memory of a NumPy array
  RETURN_IF_ERROR(table.GatherRowsInto(ids, rows));
  double loss = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const float difference = rows[i] - targets[i];
    loss += difference * difference;
    rows[i] = 2 * difference;  // the gradient replaces the value
  }
  RETURN_IF_ERROR(table.Step(ids, rows, /*learning_rate=*/0.1));
  return loss;
}
// [example]

TEST(EmbeddingTableExampleTest, RowsApproachTheirTargets) {
  const client::testing::ServedGraph served(client::testing::SmallGraph(), 2);
  Context context;
  context.session.addresses = served.addresses();
  const auto graph = DistGraph::Open(context);
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  collective::SelfCollective group;
  const auto table = EmbeddingTable::Create((*graph)->embeddings(), group,
                                            {.rows = sampler::RowSpace::Nodes(NodeTypeId(0)),
                                             .size = 2,
                                             .name = "place",
                                             .optimizer = {.type = sampler::SparseOptimizerType::kSgd}});
  ASSERT_TRUE(table.ok()) << table.status().ToString();
  // Node 7 has two targets: its row goes to their mean, (1, 2), from where the sum of the squared distances is 4.
  const std::vector<int64_t> ids = {7, 1200, 7};
  const std::vector<float> targets = {2, 1, -3, 5, 0, 3};
  std::vector<double> losses;
  for (int step = 0; step < 40; ++step) {
    const Result<double> loss = MoveTowards(**table, ids, targets);
    ASSERT_TRUE(loss.ok()) << loss.status().ToString();
    losses.push_back(*loss);
  }
  EXPECT_EQ(losses.front(), 48);  // rows begin with zeros
  EXPECT_NEAR(losses.back(), 4, 1e-3);
}

}  // namespace example
