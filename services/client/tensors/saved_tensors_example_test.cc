// Runs the example of docs/saved-tensors.md. docs/tests/examples_test.py compares this file with the page.
#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "services/client/tensors/saved_tensors.h"
#include "services/client/testing/served_graph.h"
#include "services/storage/testing/temporary_folder.h"

namespace example {

// [example]
using namespace espalier;
using namespace espalier::client;

// Counts visits of papers and saves them after each epoch. Resumes from the newest save of an earlier run.
Result<DistTensor> CountVisits(const DistGraph& graph, NodeTypeId paper, int epochs, const std::string& folder,
                               const std::function<Status(DistTensor& visits, int epoch)>& run_epoch) {
  const DistTensorOptions options{.rows = RowSpace::Nodes(paper), .dtype = DType::kI64, .name = "visits"};
  // On servers that have not been restarted, the tensor of an earlier run still exists.
  RETURN_IF_ERROR(DistTensor::Drop(graph, options.rows, options.name));
  ASSIGN_OR_RETURN(const std::vector<std::string> saved, ListSavedTensors(folder));
  std::optional<DistTensor> visits;
  int epoch = 0;
  if (saved.empty()) {
    ASSIGN_OR_RETURN(visits, DistTensor::Create(graph, options));
  } else {
    ASSIGN_OR_RETURN(LoadedTensors loaded,
                     LoadTensors(graph, folder + "/" + saved.back(), {.lifetime = Lifetime::kScoped}));
    visits = std::move(loaded.tensors.front());
    epoch = std::stoi(loaded.notes.at("epochs"));
  }
  while (epoch < epochs) {
    RETURN_IF_ERROR(run_epoch(*visits, epoch++));
    const std::string name = "epochs-" + std::to_string(1000 + epoch);  // sorted by name is sorted by epoch
    RETURN_IF_ERROR(SaveTensors(graph, {{options.rows, options.name}}, folder + "/" + name,
                                {.notes = {{"epochs", std::to_string(epoch)}}}));
  }
  return *std::move(visits);
}
// [example]

TEST(SavedTensorsExampleTest, ResumesOverOtherPartitioning) {
  const storage::TemporaryFolder folder;
  const auto open = [](const client::testing::ServedGraph& served) {
    Context context;
    context.session.addresses = served.addresses();
    auto graph = DistGraph::Open(context);
    ESPALIER_CHECK(graph.ok()) << graph.status().ToString();
    return *std::move(graph);
  };
  const auto visit_all = [](DistTensor& visits, int epoch) {
    std::vector<GlobalRowId> rows;
    for (uint64_t row = 0; row < visits.num_rows(); ++row) rows.emplace_back(row);
    return visits.AddRows(rows, Tensor::FromVector(std::vector<int64_t>(rows.size(), epoch)));
  };
  const client::testing::ServedGraph three(client::testing::SmallGraph(), 3), one(client::testing::SmallGraph(), 1);
  const auto first = open(three), second = open(one);
  ASSERT_TRUE(CountVisits(*first, NodeTypeId(0), 2, folder.path(), visit_all).ok());
  int epochs_run = 0;
  const auto visits = CountVisits(*second, NodeTypeId(0), 4, folder.path(), [&](DistTensor& tensor, int epoch) {
    ++epochs_run;
    return visit_all(tensor, epoch);
  });
  ASSERT_TRUE(visits.ok()) << visits.status().ToString();
  EXPECT_EQ(epochs_run, 2);
  EXPECT_EQ(visits->Sum()->ValueAsInt(0), static_cast<int64_t>(visits->num_rows()) * (0 + 1 + 2 + 3));
}

}  // namespace example
