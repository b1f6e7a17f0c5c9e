// A task is what a model predicts: classes or values of nodes (NodeTask) or of edges (EdgeTask), or the edges
// themselves (LinkTask). This interface contains everything in which tasks differ; the rest of the trainer is the same
// for every task.
//
// A job that only applies a model has a task too. If the task has a head (the part of the model after the layers), the
// head of such a job comes from the model file.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "services/sampler/batches/mini_batch_source.h"
#include "services/trainer/evaluation/task_evaluation.h"
#include "services/trainer/model/model_file.h"
#include "services/trainer/results/node_results.h"
#include "services/trainer/task/batch_loss.h"
#include "services/trainer/task/task_facts.h"

namespace espalier::trainer {

// The words that messages use for the task.
struct TaskWords {
  const char* seeds = "";       // "nodes" or "edges"
  const char* drawn_edge = "";  // an edge that layers may sample: "edge", or "edge other than held-out edges"
  const char* head = "";        // the part of the model after its layers: "head for edges"; empty: none
};

// The arguments of AddHead.
struct HeadContext {
  const std::optional<ModelFile>& file;  // the initial model; nullopt: none, or a user's module
  GraphAccess graph;
  int64_t width = 0;  // width of the model's outputs
  collective::Collective& collective;
  Timeouts timeouts;
};

// The arguments of MakeEvaluation. The references must outlive the evaluation, except `sampling`, which is copied.
struct EvaluationContext {
  GraphAccess graph;
  const NodeData& data;
  collective::Collective& collective;
  const sampler::SamplingSpec& sampling;
  InferenceOptions inference;
  uint64_t scoring_chunk = 4096;  // edges or candidates scored at once; the last bits of results depend on it
};

// The results that spec.output.save requests from a task.
struct ResultsPlan {
  NodeResultsRequest nodes;
  bool edge_predictions = false;                        // see Task::ExportEdgePredictions
  std::map<std::string, std::string> not_written = {};  // requested kind that the task does not have -> reason

  bool is_empty() const { return !nodes.embeddings && !nodes.predictions && !edge_predictions; }
};

// Created by MakeTask (make_task.h). AddHead is called once, after the model is created. The functions declared below
// AddHead are called only after it, those above it at any time. Owned by one thread. Every rank has a task and calls
// the same functions.
class Task {
 public:
  virtual ~Task() = default;

  virtual TaskWords words() const = 0;

  // Sets plan->seed_type and, for a task on edges, plan->seeds. InvalidArgument or NotFound names the field of the
  // document that does not fit the schema.
  virtual Status PlanSeeds(const graph::GraphSchema& schema, sampler::EpochPlan* plan) const = 0;
  // Resolves the node columns that the job reads: the inputs of `training` and, for a task on nodes, the label. `rows`
  // outlives the result.
  virtual Result<NodeData> MakeData(const job::Training& training, const graph::GraphSchema& schema,
                                    sampler::RowSource& rows) const = 0;
  // Returns the number of seeds (nodes or edges) of a part of the task's split. NotFound if the graph lacks the split.
  virtual Result<uint64_t> CountSeeds(const NodeData& data, const GraphAccess& graph,
                                      graph::SplitPartName part) const = 0;
  // If the graph lacks labels, so that no metric can be computed, returns a message that says so; otherwise returns "".
  // An EdgeTask knows its labels only after AddHead and returns "" before.
  virtual std::string ReasonForNoMetric(const NodeData& data) const = 0;

  // Adds the head, which reads the model's outputs, as a submodule of `model`, so that the head is trained, saved and
  // loaded with the model. An EdgeTask first reads its labels. Returns warnings about labels, the same on every rank.
  // Every rank must call it. The default does nothing.
  virtual Result<std::vector<std::string>> AddHead(const HeadContext& /*context*/, Model& /*model*/) {
    return std::vector<std::string>();
  }

  virtual TaskFacts Facts(const graph::GraphSchema& schema) const = 0;
  // Returns the loss of training. It shares the head with the task.
  virtual BatchLoss MakeLoss(const NodeData& data) const = 0;
  // Returns the evaluation that computes the job's metric. It shares the head with the task.
  virtual Result<std::shared_ptr<TaskEvaluation>> MakeEvaluation(const EvaluationContext& context) = 0;

  virtual ResultsPlan PlanResults(const job::DistTraining& job) const = 0;
  // Writes the predictions for edges (edge_results.h) if ResultsPlan::edge_predictions is set. Called after
  // MakeEvaluation and inference.ComputeHidden, within a pass of the Evaluator (evaluation.h). `tensor` is the name of
  // a distributed tensor that does not exist yet. Every rank must call it. The default writes nothing.
  virtual Result<NodeResultFiles> ExportEdgePredictions(const NodeResultsContext& /*context*/, Model& /*model*/,
                                                        FullInference& /*inference*/, const std::string& /*tensor*/) {
    return NodeResultFiles();
  }
};

}  // namespace espalier::trainer
