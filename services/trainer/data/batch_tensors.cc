#include "services/trainer/data/batch_tensors.h"

namespace espalier::trainer {

Result<BatchTensors> FetchBatch(sampler::MiniBatch batch, const NodeData& data, Deadline deadline,
                                std::optional<sampler::StepPlan> plan) {
  const Timer timer;
  BatchTensors fetched;
  fetched.batch = std::move(batch);
  const auto& nodes = fetched.batch.nodes;
  const size_t num_types = data.input_widths().size();
  const bool has_edge_seeds = fetched.batch.links.has_value() || fetched.batch.edges.has_value();
  if (nodes.size() != num_types ||
      (!has_edge_seeds && fetched.batch.num_seeds > nodes[data.seed_type().value].size())) {
    return Internal("a mini-batch does not fit the graph's node types");
  }
  fetched.plan = std::move(plan);
  const auto& gathered_nodes = fetched.plan.has_value() ? fetched.plan->missing_nodes : nodes;
  fetched.features.resize(num_types);
  fetched.original_ids.resize(num_types);
  for (uint16_t type = 0; type < num_types; ++type) {
    ASSIGN_OR_RETURN(fetched.features[type], data.Features(NodeTypeId(type), gathered_nodes[type], deadline));
    ASSIGN_OR_RETURN(fetched.original_ids[type], data.OriginalIds(NodeTypeId(type), gathered_nodes[type], deadline));
  }
  ASSIGN_OR_RETURN(fetched.degrees, data.Degrees(nodes, fetched.batch.layers.front().num_outputs, deadline));
  if (data.has_labels()) {
    const std::span<const GlobalNodeId> seeds(nodes[data.seed_type().value].data(), fetched.batch.num_seeds);
    ASSIGN_OR_RETURN(fetched.labels, data.Labels(seeds, deadline));
  }
  fetched.fetch_seconds = timer.Seconds();
  return fetched;
}

BatchTensors EmptyBatch(const std::vector<std::vector<EdgeTypeId>>& relations, const NodeData& data) {
  const size_t num_types = data.input_widths().size();
  BatchTensors empty;
  empty.batch.seed_type = data.seed_type();
  empty.batch.global_num_seeds = 1;
  empty.batch.nodes.resize(num_types);
  for (const std::vector<EdgeTypeId>& layer_relations : relations) {
    sampler::BatchLayer layer;
    for (const EdgeTypeId relation : layer_relations) layer.blocks.push_back({relation, {0}, {}, {}});
    layer.num_inputs.resize(num_types, 0);
    layer.num_outputs.resize(num_types, 0);
    empty.batch.layers.push_back(std::move(layer));
  }
  for (const int64_t width : data.feature_widths()) {
    empty.features.push_back(torch::empty({0, width}, torch::kFloat));
    empty.original_ids.push_back(torch::empty({0}, torch::kInt64));
  }
  if (!data.has_labels()) {  // a task on edges: adds empty lists of seed edges
    empty.batch.links.emplace();
    empty.batch.edges.emplace();
    return empty;
  }
  empty.labels = data.loss_kind() == LossKind::kCrossEntropy ? torch::empty({0}, torch::kInt64)
                                                             : torch::empty({0, data.label_width()}, torch::kFloat);
  return empty;
}

}  // namespace espalier::trainer
