// Builds the parts of a run from the document and the graph: data, sampling, model and task.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "services/sampler/draws/sampling_spec.h"
#include "services/trainer/data/node_data.h"
#include "services/trainer/model/module_file.h"
#include "services/trainer/task/task.h"
#include "services/trainer/train_job.h"

namespace espalier::trainer {

// The parts of a run.
struct Parts {
  NodeData data;
  sampler::SamplingSpec sampling;
  std::shared_ptr<const ModuleFile> module;  // the user's module; null: a built-in model
  std::unique_ptr<Task> task;                // never null; its head is a submodule of the model
  std::shared_ptr<Model> model = nullptr;
  uint32_t steps_per_epoch = 0;
  std::string no_metric_reason = {};       // why no metric can be computed; empty if metrics can be computed
  uint64_t chunk_nodes = 0;                // nodes that inference computes at once
  std::vector<std::string> warnings = {};  // about labels and edges; the same on every rank
};

// Returns the number of edges of the relations that each layer samples, summed over layers.
uint64_t CountEdges(const sampler::SamplingSpec& sampling, const graph::PartitionBook& book);

// Returns the options from which the model of these parts is created.
ModelOptions MakeModelOptions(const job::Training& training, const graph::GraphSchema& schema, const Parts& parts);

// Builds the parts. Loads the job's initial model file, if any, into the model. Every rank must call it. After an error
// the caller must abandon the group, because only some errors are returned on all ranks.
Result<Parts> MakeParts(const job::DistTraining& job, GraphAccess graph, collective::Collective& collective,
                        const TrainOptions& options);

}  // namespace espalier::trainer
