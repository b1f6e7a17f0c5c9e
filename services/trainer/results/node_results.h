// What a trained model says about nodes, under their original ids, in format/node_results.h's files:
//   embeddings/   the activations that enter the last layer, of every node type that has any
//   predictions/  of the task's node type: the class (I64), a 0 or 1 per class (U8), or the values
//   logits/       the outputs that classes were decided by
// Rank 0 fetches and writes a bounded piece at a time, whatever the size of the graph, and the other ranks wait for no
// more than a piece.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "services/format/outputs_manifest.h"
#include "services/trainer/evaluation/full_inference.h"
#include "services/trainer/results/chosen_nodes.h"

namespace espalier::trainer {

struct NodeResultsRequest {
  bool embeddings = false;
  bool predictions = false;
  bool embeddings_are_outputs = false;  // of tasks on edges: what a scorer or head reads, not the last layer
  // Whose; rank 0's word counts. Not there: all nodes of all types, in the order of their ids.
  std::optional<ChosenNodes> nodes;
};

// What spec.output.save asks for; of all nodes.
NodeResultsRequest MakeNodeResultsRequest(const job::DistTraining& job);

struct NodeResultsContext {
  GraphAccess graph;
  const NodeData& data;
  collective::Collective& collective;
  Timeouts timeouts;
  std::map<std::string, std::string> attributes;  // for the manifests
  storage::ObjectStore* store = nullptr;          // rank 0's; outlives the call
  std::string folder;                             // a key prefix in the store
  PhaseTracker* phases = nullptr;                 // outlives the call; may be null
  // Enough for the network, little for rank 0's memory.
  uint64_t bytes_per_read = uint64_t{16} << 20;
};

// Returns the number of nodes of all seed types.
uint64_t CountSeedTypeNodes(const NodeResultsContext& context);

// What was written; empty on all ranks but 0.
struct NodeResultFiles {
  std::vector<format::OutputFile> files;
  std::map<std::string, std::string> not_written;  // kind -> why there is none
};

// After inference.ComputeHidden. Every rank calls it: all compute, rank 0 writes below `folder`, over what an earlier
// pass left there. `tensor_prefix` names the tensor in which outputs wait for rank 0.
Result<NodeResultFiles> ExportNodeResults(const NodeResultsContext& context, Model& model, FullInference& inference,
                                          const NodeResultsRequest& request, const std::string& tensor_prefix);

}  // namespace espalier::trainer
