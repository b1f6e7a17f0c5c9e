#include "services/sampler/batches/edge_batch.h"

#include "absl/container/flat_hash_map.h"
#include "services/base/select_rows.h"
#include "services/sampler/seeds/seed_order.h"

namespace espalier::sampler {
namespace {

EdgeExclusions FindExcludedEdges(const GlobalBatch& batch, const EdgePlan& plan, size_t num_edge_types) {
  if (!plan.exclude_batch) return EdgeExclusions(num_edge_types);
  const LinkType type{plan.edge_type, plan.exclude_reverse};
  return FindExclusions(batch, std::span(&type, 1), num_edge_types);
}

struct EdgesAndEnds {
  EdgeSeeds edges;
  std::vector<std::vector<GlobalNodeId>> nodes;  // distinct endpoints by NodeTypeId
};

// Returns the edges, all of `type`, at these positions of the batch.
EdgesAndEnds SelectEdges(const GlobalBatch& batch, const std::vector<uint32_t>& positions,
                         const graph::GraphSchema& schema, EdgeTypeId type) {
  const NodeTypeId source_type = schema.SourceOf(type), destination_type = schema.DestinationOf(type);
  EdgesAndEnds share;
  share.nodes.resize(schema.num_node_types());
  std::vector<absl::flat_hash_map<uint64_t, uint32_t>> row_of(share.nodes.size());
  const auto add_node = [&](NodeTypeId node_type, GlobalNodeId node) {
    std::vector<GlobalNodeId>& of_type = share.nodes[node_type.value];
    const auto [at, added] = row_of[node_type.value].try_emplace(node.value, static_cast<uint32_t>(of_type.size()));
    if (added) of_type.push_back(node);
    return at->second;
  };
  for (const uint32_t position : positions) {
    share.edges.sources.push_back(add_node(source_type, batch.sources[position]));
    share.edges.destinations.push_back(add_node(destination_type, batch.seeds[position]));
  }
  share.edges.labels = SelectRows<uint32_t>(batch.rows, positions);
  // The seeds of all node types are numbered together, in the order of NodeTypeId. If the endpoints have two types, the
  // rows of the second one therefore start after the seeds of the first.
  const auto move_behind = [&](NodeTypeId first, std::vector<uint32_t>& rows) {
    const auto num_first = static_cast<uint32_t>(share.nodes[first.value].size());
    for (uint32_t& row : rows) row += num_first;
  };
  if (source_type < destination_type) move_behind(source_type, share.edges.destinations);
  if (destination_type < source_type) move_behind(destination_type, share.edges.sources);
  return share;
}

}  // namespace

Status CheckEdgePlan(const EdgePlan& plan, const graph::GraphSchema& schema) {
  SeedQuery query;
  query.edge_types = {plan.edge_type};
  RETURN_IF_ERROR(CheckSeedTypes(query, schema));
  if (plan.label.empty()) return InvalidArgument("the plan names no label");
  const std::optional<EdgeTypeId> reverse = plan.exclude_reverse;
  if (!reverse.has_value()) return {};
  if (!plan.exclude_batch) return InvalidArgument("the plan excludes the reverse edges of a batch, but not its edges");
  const std::string name = schema.EdgeType(plan.edge_type).Name();
  RETURN_IF_ERROR(schema.CheckEdgeType(*reverse).While("the reverse edge type of '" + name + "'"));
  if (schema.SourceOf(*reverse) != schema.DestinationOf(plan.edge_type) ||
      schema.DestinationOf(*reverse) != schema.SourceOf(plan.edge_type)) {
    return InvalidArgument("the reverse edge type does not reverse the node types of '" + name + "'");
  }
  return {};
}

Result<MiniBatch> MakeEdgeBatch(SeedSource& seeds, FanoutSampler& sampler, const graph::PartitionBook& book,
                                const EpochPlan& plan, uint64_t seed, uint32_t epoch, uint32_t step, bool want_edge_ids,
                                Deadline deadline) {
  const EdgePlan& edge_plan = *plan.edges();
  SeedQuery query{.split = plan.split,
                  .part = plan.part,
                  .shuffle = plan.shuffle,
                  .seed = seed,
                  .epoch = epoch,
                  .step = step,
                  .batch_size = plan.batch_size};
  query.edge_types = {edge_plan.edge_type};
  query.edge_column = edge_plan.label;
  ASSIGN_OR_RETURN(const GlobalBatch global, seeds.SeedsOfStep(query, deadline));
  const graph::GraphSchema& schema = book.schema();
  const NodeTypeId destination_type = schema.DestinationOf(edge_plan.edge_type);
  const std::vector<uint32_t> share = PositionsOfShare(global, book, destination_type, plan.num_trainers, plan.rank);
  EdgesAndEnds mine = SelectEdges(global, share, schema, edge_plan.edge_type);

  const EdgeExclusions excluded = FindExcludedEdges(global, edge_plan, schema.num_edge_types());
  BatchRequest request{.epoch = epoch,
                       .step = step,
                       .seed_type = destination_type,
                       .seeds = {},
                       .global_num_seeds = static_cast<uint32_t>(global.seeds.size()),
                       .want_edge_ids = want_edge_ids};
  request.typed_seeds = mine.nodes;
  if (edge_plan.exclude_batch) request.excluded = &excluded;
  ASSIGN_OR_RETURN(MiniBatch batch, sampler.Sample(request, deadline));
  batch.edges = std::move(mine.edges);
  return batch;
}

}  // namespace espalier::sampler
