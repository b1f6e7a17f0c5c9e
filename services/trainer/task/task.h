// A task is what a model is trained for: classes or values of nodes (NodeTask) or of edges (EdgeTask), or the edges
// themselves (LinkTask). This interface has everything that differs between tasks; the rest of the trainer is the same
// for all of them.
//
// A job that only applies a model has a task too: its target and head are then those of the model file.
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

// Words for messages.
struct TaskWords {
  const char* seeds = "";       // "nodes" or "edges"
  const char* drawn_edge = "";  // an edge that layers may draw: "edge", or "edge that is not held out"
  const char* head = "";        // the part of the model after its layers: "head for edges"; empty: none
};

// What AddHead reads.
struct HeadContext {
  const std::optional<ModelFile>& file;  // the initial model; nullopt: none, or a user's module
  GraphAccess graph;
  int64_t width = 0;  // of the model's outputs
  collective::Collective& collective;
  Timeouts timeouts;
};

// What an evaluation reads. The references outlive it, except `sampling`, which is copied.
struct EvaluationContext {
  GraphAccess graph;
  const NodeData& data;
  collective::Collective& collective;
  const sampler::SamplingSpec& sampling;
  InferenceOptions inference;
  uint64_t scoring_chunk = 4096;  // edges or candidates scored at once; affects results
};

// The results that spec.output.save requests of a task.
struct ResultsPlan {
  NodeResultsRequest nodes;
  bool edge_predictions = false;                        // see Task::ExportEdgePredictions
  std::map<std::string, std::string> not_written = {};  // requested kinds that the task does not have -> the reason

  bool is_empty() const { return !nodes.embeddings && !nodes.predictions && !edge_predictions; }
};

// Made by MakeTask (make_task.h). Functions are called in the order in which they are declared: AddHead after the model
// is made, and the functions below it after AddHead. Owned by one thread. Every rank has one and calls the same
// functions.
class Task {
 public:
  virtual ~Task() = default;

  virtual TaskWords words() const = 0;

  // Sets the seeds and the seed type of a plan of mini-batches. InvalidArgument or NotFound names the field of the
  // document that does not fit the schema.
  virtual Status PlanSeeds(const graph::GraphSchema& schema, sampler::EpochPlan* plan) const = 0;
  // Resolves the node columns that the job reads: the inputs of `training` and, for a task on nodes, the label. `rows`
  // outlives the result.
  virtual Result<NodeData> MakeData(const job::Training& training, const graph::GraphSchema& schema,
                                    sampler::RowSource& rows) const = 0;
  // Returns the number of seeds (nodes or edges) of a part of the task's split. NotFound if the graph lacks the split.
  virtual Result<uint64_t> CountSeeds(const NodeData& data, const GraphAccess& graph,
                                      graph::SplitPartName part) const = 0;
  // Returns why no metric can be computed, because the graph lacks labels; empty if it can. Labels of edges are known
  // after AddHead.
  virtual std::string ReasonForNoMetric(const NodeData& data) const = 0;

  // Resolves the target. Adds the head, which reads the model's outputs, as a submodule of `model`, so that the head is
  // trained, saved and loaded with the model. Returns warnings about labels, the same on every rank. Collective. The
  // default does nothing.
  virtual Result<std::vector<std::string>> AddHead(const HeadContext& /*context*/, Model& /*model*/) {
    return std::vector<std::string>();
  }

  virtual TaskFacts Facts(const graph::GraphSchema& schema) const = 0;
  virtual BatchLoss MakeLoss(const NodeData& data) const = 0;
  virtual Result<std::shared_ptr<TaskEvaluation>> MakeEvaluation(const EvaluationContext& context) = 0;

  virtual ResultsPlan PlanResults(const job::DistTraining& job) const = 0;
  // Writes what ResultsPlan::edge_predictions requests (edge_results.h). Called after MakeEvaluation and
  // inference.ComputeHidden, within a pass of the Evaluator (evaluation.h). `tensor` is a new name. Collective. The
  // default writes nothing.
  virtual Result<NodeResultFiles> ExportEdgePredictions(const NodeResultsContext& /*context*/, Model& /*model*/,
                                                        FullInference& /*inference*/, const std::string& /*tensor*/) {
    return NodeResultFiles();
  }
};

}  // namespace espalier::trainer
