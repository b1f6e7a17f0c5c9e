// What a trained model says about every node, under the nodes' original ids, in format/node_results.h's files:
//   embeddings/   the activations that enter the last layer, of every node type that has any
//   predictions/  of the task's node type: the class (I64), a 0 or 1 per class (U8), or the values
//   logits/       the outputs that classes were decided by
#pragma once

#include <map>
#include <string>

#include "services/trainer/full_inference.h"

namespace espalier::trainer {

struct NodeResultsRequest {
  bool embeddings = false;
  bool predictions = false;
};

NodeResultsRequest NodeResultsOf(const job::DistTraining& job);

struct NodeResultsContext {
  GraphAccess graph;
  const NodeData& data;
  collective::Collective& collective;
  Timeouts timeouts;
  std::map<std::string, std::string> attributes;  // for the manifests
};

// After inference.ComputeHidden. Every rank calls it: all compute, rank 0 writes below `output_dir`. `tensor_prefix`
// names the tensor in which outputs wait for rank 0.
Status ExportNodeResults(const NodeResultsContext& context, Model& model, FullInference& inference,
                         const NodeResultsRequest& request, const std::string& output_dir,
                         const std::string& tensor_prefix);

}  // namespace espalier::trainer
