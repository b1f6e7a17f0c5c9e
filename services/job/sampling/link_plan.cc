#include "services/job/sampling/link_plan.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "services/sampler/batches/link_batch.h"

namespace espalier::job {
namespace {

constexpr char kReversePrefix[] = "rev_";

// Returns the name of the edge type that addReverseEdges adds for `forward`.
std::string MakeReverseName(const graph::CanonicalEdgeType& forward) {
  return graph::CanonicalEdgeType{forward.destination, kReversePrefix + forward.relation, forward.source}.Name();
}

// Returns the reverse edge type that addReverseEdges has added for `type`. If `type` itself was added as a reverse,
// returns its forward type. Returns nullopt if there is neither.
std::optional<EdgeTypeId> FindCounterpart(const graph::GraphSchema& schema, EdgeTypeId type) {
  const graph::CanonicalEdgeType& edges = schema.EdgeType(type);
  if (Result<EdgeTypeId> reverse = schema.FindEdgeType(MakeReverseName(edges)); reverse.ok()) return *reverse;
  if (!edges.relation.starts_with(kReversePrefix)) return std::nullopt;
  const graph::CanonicalEdgeType forward = {edges.destination, edges.relation.substr(std::strlen(kReversePrefix)),
                                            edges.source};
  if (Result<EdgeTypeId> found = schema.FindEdgeType(forward.Name()); found.ok()) return *found;
  return std::nullopt;
}

}  // namespace

Result<std::vector<EdgeTypeId>> FindEdgeTypes(const Task& task, const graph::GraphSchema& schema) {
  std::vector<EdgeTypeId> types;
  if (!task.edge_type.empty()) {
    ASSIGN_OR_RETURN(const EdgeTypeId type, schema.FindEdgeType(task.edge_type).While("spec.training.task.edgeType"));
    types.push_back(type);
    return types;
  }
  if (!task.edge_types.empty()) {
    for (const std::string& name : task.edge_types) {
      ASSIGN_OR_RETURN(const EdgeTypeId type, schema.FindEdgeType(name).While("spec.training.task.edgeTypes"));
      types.push_back(type);
    }
    std::sort(types.begin(), types.end());
    const auto twice = std::adjacent_find(types.begin(), types.end());
    if (twice == types.end()) return types;
    return InvalidArgument("spec.training.task.edgeTypes: edge type '" + schema.EdgeType(*twice).Name() +
                           "' is named twice");
  }
  if (schema.num_edge_types() == 0) return InvalidArgument("spec.training.task: the graph has no edges");
  for (uint16_t type = 0; type < schema.num_edge_types(); ++type) types.emplace_back(type);
  return types;
}

Result<std::vector<std::string>> CanonicalNamesOfEdgeTypes(const Task& task, const graph::GraphSchema& schema) {
  ASSIGN_OR_RETURN(const std::vector<EdgeTypeId> types, FindEdgeTypes(task, schema));
  std::vector<std::string> names;
  for (const EdgeTypeId type : types) names.push_back(schema.EdgeType(type).Name());
  return names;
}

Result<std::optional<EdgeTypeId>> FindReverseType(const Task& task, const graph::GraphSchema& schema, EdgeTypeId type) {
  const std::optional<EdgeTypeId> none;
  if (!task.reverse_edge_type.empty()) {
    if (task.edge_type.empty() && (schema.num_edge_types() > 1 || !task.edge_types.empty())) {
      const std::string found = task.edge_types.empty()
                                    ? "the graph has " + std::to_string(schema.num_edge_types()) + " edge types"
                                    : "the task has edgeTypes";
      return InvalidArgument("spec.training.task.reverseEdgeType: this field is for one edge type, but " + found +
                             ": name spec.training.task.edgeType; there are: " + schema.EdgeTypeList());
    }
    ASSIGN_OR_RETURN(const EdgeTypeId named,
                     schema.FindEdgeType(task.reverse_edge_type).While("spec.training.task.reverseEdgeType"));
    // The plan excludes the edges of one reverse type only. If another type than the added one were named, the added
    // reverse edges of a batch would remain in its neighborhoods.
    if (task.reverse_edges_added && !schema.is_homogeneous() && FindCounterpart(schema, type) != named) {
      return InvalidArgument(
          "spec.training.task.reverseEdgeType: spec.graph.preprocess.addReverseEdges adds another reverse edge type: "
          "omit one of the two fields");
    }
    return std::optional<EdgeTypeId>(named);
  }
  if (!task.reverse_edges_added) return none;
  if (schema.is_homogeneous()) return std::optional<EdgeTypeId>(type);
  const std::optional<EdgeTypeId> made = FindCounterpart(schema, type);
  if (made.has_value()) return made;
  return NotFound("spec.training.task.edgeType: the graph has no edge type '" + MakeReverseName(schema.EdgeType(type)) +
                  "', which addReverseEdges should have added");
}

Result<std::optional<sampler::LinkPlan>> MakeLinkPlan(const Task& task, const graph::GraphSchema& schema) {
  if (task.type != TaskType::kLinkPrediction) return std::optional<sampler::LinkPlan>();
  sampler::LinkPlan plan;
  ASSIGN_OR_RETURN(const std::vector<EdgeTypeId> types, FindEdgeTypes(task, schema));
  for (const EdgeTypeId type : types) {
    ASSIGN_OR_RETURN(const std::optional<EdgeTypeId> reverse, FindReverseType(task, schema, type));
    plan.types.push_back({type, reverse});
  }
  plan.negatives = {task.negatives, static_cast<uint32_t>(task.num_negatives)};
  sampler::EpochPlan epoch;
  epoch.seeds = std::move(plan);
  RETURN_IF_ERROR(sampler::CheckLinkPlan(epoch, schema).While("spec.training.task"));
  return std::optional<sampler::LinkPlan>(*epoch.links());
}

}  // namespace espalier::job
