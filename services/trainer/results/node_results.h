// Writes a trained model's results for nodes, with their original ids, in the format of format/results/node_results.h:
//   embeddings/   for each node type that has embeddings: the activations that enter the last layer; for tasks on
//                 edges, the model's outputs
//   predictions/  for the task's node type: the class (I64), 0 or 1 per class (U8), or the values
//   logits/       the outputs from which classes were predicted
// Rank 0 fetches and writes one chunk of bounded size at a time. The other ranks synchronize with rank 0 after each
// chunk.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "services/format/results/outputs_manifest.h"
#include "services/trainer/evaluation/full_inference.h"
#include "services/trainer/results/chosen_nodes.h"

namespace espalier::trainer {

struct NodeResultsRequest {
  bool embeddings = false;
  bool predictions = false;
  bool embeddings_are_outputs = false;  // for tasks on edges: export the outputs that a scorer or head reads
  // The selected nodes; only rank 0's value is used. nullopt: all nodes of all types, in the order of their original
  // ids.
  std::optional<ChosenNodes> nodes;
};

// Returns the request of spec.output.save for a task on nodes. It selects all nodes.
NodeResultsRequest RequestNodeResults(const job::DistTraining& job);
// Returns the request of spec.output.save for a task on edges: only embeddings, because nodes have no predictions. It
// selects all nodes.
NodeResultsRequest RequestOutputsAsEmbeddings(const job::DistTraining& job);

// The context in which results are written.
struct NodeResultsContext {
  GraphAccess graph;
  const NodeData& data;
  collective::Collective& collective;
  Timeouts timeouts;
  std::map<std::string, std::string> attributes;  // recorded in the manifests
  storage::ObjectStore* store = nullptr;          // set on rank 0; outlives the call
  std::string folder;                             // key prefix in the store
  PhaseTracker phases = {};
  // Upper bound of a chunk's size: large enough for the network's throughput, small compared to rank 0's memory.
  uint64_t bytes_per_read = uint64_t{16} << 20;
};

// Returns the number of nodes of all seed types in the graph.
uint64_t CountSeedTypeNodes(const NodeResultsContext& context);

// The files that were written for nodes or edges; complete only on rank 0.
struct NodeResultFiles {
  std::vector<format::OutputFile> files;
  std::map<std::string, std::string> not_written;  // kind ("predictions") -> reason
};

// Writes the requested results. Call it after inference.ComputeHidden. Every rank must call it: all ranks compute, and
// rank 0 writes below context.folder, replacing the files of an earlier pass. Rank 0 reads the outputs from temporary
// distributed tensors, whose names begin with `tensor_prefix`.
Result<NodeResultFiles> ExportNodeResults(const NodeResultsContext& context, Model& model, FullInference& inference,
                                          const NodeResultsRequest& request, const std::string& tensor_prefix);

}  // namespace espalier::trainer
