#include "services/trainer/testing/community.h"

#include "services/graph/generators.h"

namespace espalier::trainer {

const graph::SourceGraph& CommunityGraph() {
  static const graph::SourceGraph* const graph = [] {
    graph::PowerLawOptions options;
    options.num_nodes = 600;
    options.num_edges = 6000;
    options.community_size = 100;
    options.within_community = 0.9;
    options.num_classes = 3;
    options.features = {.width = 16, .dtype = DType::kF32, .signal = 0.3};
    options.split = {.train = 0.3, .validation = 0.2, .test = 0.3};
    options.seed = 5;
    return new graph::SourceGraph(*graph::GeneratePowerLawGraph(options, 1));
  }();
  return *graph;
}

job::DistTraining CommunityJob() {
  job::DistTraining job;
  job.name = "community";
  job.training.task.label = graph::kLabelColumn;
  job.training.task.split = graph::kRandomSplit;
  job.training.inputs = {{"", {graph::kFeatureColumn}}};
  job.training.model.hidden_size = 16;
  job.training.model.dropout = 0.2;
  job.training.sampling.layers = {{5, {}}, {5, {}}};
  job.training.batch_size = 50;
  job.training.epochs = 4;
  job.training.seed = 1;
  return job;
}

}  // namespace espalier::trainer
