#include "services/trainer/link_task.h"

#include "services/trainer/link_loss.h"

namespace espalier::trainer {

Result<uint64_t> CountTrainingEdges(const job::Training& training, const GraphAccess& graph) {
  ASSIGN_OR_RETURN(const EdgeTypeId type, EdgeTypeOf(training.task, graph.schema()));
  return graph.seeds.CountOfEdges(type, training.task.split, graph::SplitPartName::kTrain);
}

BatchLoss LossOfBatches(const job::Training& training, LossKind kind, std::shared_ptr<const LinkScorer> scorer) {
  if (!PredictsLinks(training)) {
    return [kind](const BatchTensors& batch, const torch::Tensor& outputs) {
      return Loss(kind, outputs, batch.labels, int64_t{batch.batch.global_num_seeds});
    };
  }
  return [link_loss = training.task.loss, scorer](const BatchTensors& batch, const torch::Tensor& outputs) {
    return LinkLoss(link_loss, *scorer, outputs, *batch.batch.links, int64_t{batch.batch.global_num_seeds});
  };
}

Result<LinkMeasure> LinkMeasureOf(const job::Training& training, const graph::GraphSchema& schema,
                                  std::shared_ptr<const LinkScorer> scorer) {
  LinkMeasure measure;
  measure.scorer = std::move(scorer);
  measure.options.metric = training.evaluation.metric;
  measure.options.split = training.task.split;
  ASSIGN_OR_RETURN(measure.options.edge_type, EdgeTypeOf(training.task, schema));
  measure.options.num_candidates = static_cast<uint32_t>(training.evaluation.candidates);
  measure.options.filtered = training.evaluation.filtered;
  measure.options.k = training.evaluation.k;
  measure.options.seed = training.seed;
  return measure;
}

}  // namespace espalier::trainer
