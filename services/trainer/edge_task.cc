#include "services/trainer/edge_task.h"

#include "services/base/check.h"
#include "services/trainer/model/link_scorer.h"
#include "services/trainer/model/model_error.h"

namespace espalier::trainer {

Result<std::optional<EdgeTask>> MakeEdgeTask(const job::Training& training, const std::optional<ModelFile>& file,
                                             const GraphAccess& graph, int64_t width,
                                             collective::Collective& collective, const Timeouts& timeouts) {
  if (!job::LabelsEdges(training.task.type)) return std::optional<EdgeTask>();
  std::optional<int64_t> num_outputs;
  if (file.has_value()) {
    ASSIGN_OR_RETURN(num_outputs, ReadNumEdgeOutputs(*file));
  }
  EdgeTask task;
  ASSIGN_OR_RETURN(task.target,
                   MakeEdgeTarget(training, graph, num_outputs, collective, timeouts, &task.label_warnings));
  task.head = std::make_shared<EdgeHead>(width, task.target.num_outputs, training.seed);
  return std::optional<EdgeTask>(std::move(task));
}

BatchLoss LossOfEdges(const EdgeTask& task) {
  return [task](const BatchTensors& batch, const torch::Tensor& embeddings) {
    ESPALIER_CHECK(batch.batch.edges.has_value()) << "a batch without edges";
    const sampler::EdgeSeeds& edges = *batch.batch.edges;
    // The backward pass must run even for an empty share: that of batch normalization communicates with other ranks.
    if (edges.sources.empty()) return embeddings.sum() * 0.0;
    Result<torch::Tensor> labels = ReadLabels(task.target, edges.labels);
    if (!labels.ok()) throw ModelError(std::move(labels).status());
    const torch::Tensor outputs =
        task.head->Outputs(RowsAt(embeddings, edges.sources), RowsAt(embeddings, edges.destinations));
    return Loss(task.target.loss, outputs, *labels, int64_t{batch.batch.global_num_seeds});
  };
}

}  // namespace espalier::trainer
