// What a run trains: its data, sampling, model and task, as the document and the graph say.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "services/sampler/draws/sampling_spec.h"
#include "services/trainer/data/node_data.h"
#include "services/trainer/edge_task.h"
#include "services/trainer/model/link_scorer.h"
#include "services/trainer/model/module_file.h"
#include "services/trainer/train_job.h"

namespace espalier::trainer {

// What training is made of, in the order in which it is built.
struct Parts {
  NodeData data;
  sampler::SamplingSpec sampling;
  std::shared_ptr<const ModuleFile> module;  // null: a model of ours
  std::shared_ptr<Model> model;
  std::shared_ptr<LinkScorer> scorer;  // the model's module; null but for link prediction
  std::optional<EdgeTask> edges;       // of tasks that label edges; its head is the model's module
  uint32_t steps_per_epoch = 0;
  std::string unmeasurable;                   // why no metric can be computed; empty: it can
  std::vector<std::string> scorer_relations;  // RunFacts
  uint64_t chunk_nodes = 0;                   // evaluated at once
  std::vector<std::string> warnings;          // what is worth telling of labels and edges; the same on every rank
};

// Edges of the relations that layers draw.
uint64_t CountEdges(const sampler::SamplingSpec& sampling, const graph::PartitionBook& book);

ModelOptions MakeModelOptions(const job::Training& training, const graph::GraphSchema& schema, const Parts& parts);

// Every rank calls it. With what the job begins with loaded into the model.
Result<Parts> MakeParts(const job::DistTraining& job, GraphAccess graph, collective::Collective& collective,
                        const TrainOptions& options);

}  // namespace espalier::trainer
