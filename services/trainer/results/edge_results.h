// What a trained model says about the edges of the task's split, under the original ids of their ends, in
// format/edge_results.h's files:
//   predictions/  of each part: the class (I64), a 0 or 1 per class (U8), or the values
//   logits/       the outputs that classes were decided by
// Rank 0 fetches and writes a bounded piece at a time.
#pragma once

#include <string>

#include "services/trainer/evaluation/edge_evaluation.h"
#include "services/trainer/results/node_results.h"

namespace espalier::trainer {

// After inference.ComputeHidden, within the pass that keeps `edges`' embeddings (`tensor`, where none are there yet).
// Every rank calls it: all compute, rank 0 writes below context.folder, over what an earlier pass left there. Nothing
// is written where the graph lacks the split.
Result<NodeResultFiles> ExportEdgeResults(const NodeResultsContext& context, Model& model, FullInference& inference,
                                          EdgeEvaluation& edges, const std::string& tensor);

}  // namespace espalier::trainer
