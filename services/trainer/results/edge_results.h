// Writes a trained model's predictions for the edges of the task's split, with the original ids of their endpoints, in
// the format of format/results/edge_results.h:
//   predictions/  for each part of the split: the class (I64), 0 or 1 per class (U8), or the values
//   logits/       the outputs from which classes were predicted
// Rank 0 fetches and writes one chunk of bounded size at a time.
#pragma once

#include <string>

#include "services/trainer/evaluation/edge_evaluation.h"
#include "services/trainer/results/node_results.h"

namespace espalier::trainer {

// Writes the results. Call it after inference.ComputeHidden, within a pass of the Evaluator (evaluation.h). Calls
// edges.StoreEmbeddings with the name `tensor`. Every rank must call it: all ranks compute embeddings, and rank 0
// computes the outputs and writes below context.folder, replacing the files of an earlier pass. If the graph lacks the
// split, writes nothing and returns the reason in `not_written`.
Result<NodeResultFiles> ExportEdgeResults(const NodeResultsContext& context, Model& model, FullInference& inference,
                                          EdgeEvaluation& edges, const std::string& tensor);

}  // namespace espalier::trainer
