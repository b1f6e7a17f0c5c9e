// Visits the fields of the document in order and compares each with the header of the column or the sizes of the split
// that it names. Weights are needed only for edge types that a layer samples, so FindSampledEdgeTypes follows the
// layers from the seed nodes in the order in which samplers do.
#include "services/partitioner/checks/document_fit.h"

#include <set>
#include <string>
#include <utility>

#include "services/base/check.h"
#include "services/job/sampling/edge_plan.h"
#include "services/job/sampling/link_plan.h"

namespace espalier::partitioner {
namespace {

bool IsInteger(DType dtype) { return !IsFloating(dtype) && dtype != DType::kBool; }

std::string Item(const std::string& path, size_t i) { return path + "[" + std::to_string(i) + "]"; }

// Returns the node or edge type, which exists because FindUnknownNames has returned no errors.
template <class Id>
Id GetExisting(const Result<Id>& type) {
  ESPALIER_CHECK(type.ok()) << type.status().ToString();
  return *type;
}

// Returns the node type `name`, or the only node type if the name is empty.
NodeTypeId FindNodeType(const std::string& name, const graph::GraphSchema& schema) {
  return GetExisting(name.empty() ? schema.OnlyNodeType() : schema.FindNodeType(name));
}

class FitCheck {
 public:
  explicit FitCheck(const GraphMetadata& graph) : graph_(graph) {}

  void CheckTimeColumn(const std::string& name, bool has_seed_times) {
    if (name.empty()) return;
    for (uint16_t type = 0; type < graph_.edge_columns.size(); ++type) {
      const ColumnHeader* const header = EdgeColumn(EdgeTypeId(type), name);
      if (header == nullptr) continue;
      if (header->width() != 1 || header->dtype == DType::kBool) {
        Add("spec.graph.timeColumn",
            DescribeColumn(EdgeTypeId(type), name, *header) + ": expected one number for each edge");
      } else if (has_seed_times && !IsInteger(header->dtype)) {
        Add("spec.graph.timeColumn",
            DescribeColumn(EdgeTypeId(type), name, *header) + ": spec.training.sampling.seedTime needs integers");
      }
    }
  }

  void CheckTraining(const job::Training& training) {
    const bool only_infers = OnlyInfers(training);
    if (!only_infers && training.task.type != job::TaskType::kLinkPrediction) CheckLabel(training.task);
    if (!only_infers) CheckSplit(training);
    CheckInputs(training.inputs);
    CheckWeights(training);
    CheckSeedTimes(training);
  }

  std::vector<FieldError> Take() { return std::move(errors_); }

 private:
  void Add(std::string path, std::string message) { errors_.push_back({std::move(path), std::move(message)}); }

  const ColumnHeader* NodeColumn(NodeTypeId type, const std::string& name) const {
    const auto found = graph_.node_columns[type.value].find(name);
    return found == graph_.node_columns[type.value].end() ? nullptr : &found->second;
  }
  const ColumnHeader* EdgeColumn(EdgeTypeId type, const std::string& name) const {
    const auto found = graph_.edge_columns[type.value].find(name);
    return found == graph_.edge_columns[type.value].end() ? nullptr : &found->second;
  }

  std::string ToString(NodeTypeId type) const { return "node type '" + graph_.schema.NodeTypeName(type) + "'"; }
  std::string ToString(EdgeTypeId type) const { return "edge type '" + graph_.schema.EdgeType(type).Name() + "'"; }

  // Returns "column 'w' of edge type 'a:r:b' is F16".
  template <class Id>
  std::string DescribeColumn(Id type, const std::string& name, const ColumnHeader& header) const {
    return "column '" + name + "' of " + ToString(type) + " is " + header.ToString();
  }

  template <class Id>
  void CheckLabelHeader(const job::Task& task, Id type, const ColumnHeader* header, const std::string& kind) {
    if (header == nullptr) return;  // the label is the original ID, which has no header
    const bool is_classification =
        task.type == job::TaskType::kNodeClassification || task.type == job::TaskType::kEdgeClassification;
    const std::string path = "spec.training.task.label";
    if (header->width() == 0) {
      Add(path, DescribeColumn(type, task.label, *header) + ": expected at least one value for each " + kind);
    } else if (is_classification && !task.multi_label && header->width() != 1) {
      Add(path, DescribeColumn(type, task.label, *header) + ": expected one class for each " + kind +
                    ", or spec.training.task.multiLabel: true");
    }
  }

  void CheckLabel(const job::Task& task) {
    if (job::LabelsEdges(task.type)) {
      const EdgeTypeId type = GetExisting(job::FindLabeledEdgeType(task, graph_.schema));
      CheckLabelHeader(task, type, EdgeColumn(type, task.label), "edge");
    } else {
      const NodeTypeId type = FindNodeType(task.node_type, graph_.schema);
      CheckLabelHeader(task, type, NodeColumn(type, task.label), "node");
    }
  }

  // Returns the sizes of the parts of the task's split; if the task has several edge types, their sums.
  PartSizes CountParts(const job::Task& task) const {
    if (!job::HasEdgeSeeds(task.type)) {
      return graph_.node_splits[FindNodeType(task.node_type, graph_.schema).value].at(task.split);
    }
    std::vector<EdgeTypeId> types(1);
    if (job::LabelsEdges(task.type)) {
      types.front() = GetExisting(job::FindLabeledEdgeType(task, graph_.schema));
    } else {
      types = *job::FindEdgeTypes(task, graph_.schema);
    }
    PartSizes sum;
    for (const EdgeTypeId type : types) {
      const PartSizes& sizes = graph_.edge_splits[type.value].at(task.split);
      sum = {sum.train + sizes.train, sum.validation + sizes.validation, sum.test + sizes.test};
    }
    return sum;
  }

  void CheckSplit(const job::Training& training) {
    const job::Task& task = training.task;
    const PartSizes sizes = CountParts(task);
    const std::string kind = job::HasEdgeSeeds(task.type) ? "edges" : "nodes";
    if (sizes.train == 0) {
      Add("spec.training.task.split", "split '" + task.split + "' has no training " + kind);
    }
    if (training.evaluation.patience > 0 && sizes.validation == 0) {
      Add("spec.training.evaluation.earlyStopping.patience",
          "early stopping compares the validation metric, and split '" + task.split + "' has no validation " + kind +
              ": add some, or omit earlyStopping");
    }
  }

  void CheckInputs(const std::vector<job::Input>& inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const NodeTypeId type = FindNodeType(inputs[i].node_type, graph_.schema);
      if (graph_.num_nodes[type.value] == 0) continue;
      for (size_t f = 0; f < inputs[i].features.size(); ++f) {
        const ColumnHeader* const header = NodeColumn(type, inputs[i].features[f]);
        if (header == nullptr) continue;
        const std::string path = Item(Item("spec.training.inputs", i) + ".features", f);
        if (header->width() == 0) {
          Add(path,
              DescribeColumn(type, inputs[i].features[f], *header) + ": expected at least one value for each node");
        }
      }
    }
  }

  void CheckWeights(const job::Training& training) {
    const std::string& name = training.sampling.draw.weight_column;
    if (name.empty()) return;
    const std::string path = "spec.training.sampling.weight";
    const std::vector<bool> is_sampled =
        FindSampledEdgeTypes(training.sampling, graph_.schema, FindSeedNodeTypes(training.task, graph_.schema));
    for (uint16_t type = 0; type < is_sampled.size(); ++type) {
      if (!is_sampled[type]) continue;
      const ColumnHeader* const header = EdgeColumn(EdgeTypeId(type), name);
      if (header == nullptr) {
        if (graph_.num_edges[type] == 0) continue;  // no edges to sample
        Add(path, ToString(EdgeTypeId(type)) + " has no column '" + name +
                      "', but spec.training.sampling.layers samples its edges: add the column, or set the edge type's "
                      "fanout to 0");
      } else if (header->width() != 1) {
        Add(path, DescribeColumn(EdgeTypeId(type), name, *header) + ": expected one number for each edge");
      } else if (header->dtype == DType::kF16 || header->dtype == DType::kBF16) {
        Add(path, DescribeColumn(EdgeTypeId(type), name, *header) + ": expected F32, F64, an integer type or BOOL");
      }
    }
  }

  void CheckSeedTimes(const job::Training& training) {
    const std::string& name = training.sampling.seed_time;
    if (name.empty() || job::HasEdgeSeeds(training.task.type)) return;
    const NodeTypeId type = FindNodeType(training.task.node_type, graph_.schema);
    const ColumnHeader* const header = NodeColumn(type, name);
    if (header == nullptr || (header->width() == 1 && IsInteger(header->dtype))) return;
    Add("spec.training.sampling.seedTime",
        DescribeColumn(type, name, *header) + ": expected times, one integer for each node");
  }

  const GraphMetadata& graph_;  // outlives this
  std::vector<FieldError> errors_;
};

}  // namespace

std::vector<NodeTypeId> FindSeedNodeTypes(const job::Task& task, const graph::GraphSchema& schema) {
  if (!job::HasEdgeSeeds(task.type)) return {FindNodeType(task.node_type, schema)};
  std::vector<EdgeTypeId> types(1);
  if (job::LabelsEdges(task.type)) {
    types.front() = GetExisting(job::FindLabeledEdgeType(task, schema));
  } else {
    types = *job::FindEdgeTypes(task, schema);
  }
  std::set<NodeTypeId> endpoints;
  for (const EdgeTypeId type : types) endpoints.insert({schema.SourceOf(type), schema.DestinationOf(type)});
  return {endpoints.begin(), endpoints.end()};
}

std::vector<bool> FindSampledEdgeTypes(const job::Sampling& sampling, const graph::GraphSchema& schema,
                                       const std::vector<NodeTypeId>& seed_types) {
  std::vector<bool> is_sampled(schema.num_edge_types(), false);
  std::set<NodeTypeId> reached(seed_types.begin(), seed_types.end());
  // The last layer samples the neighbors of the seed nodes.
  for (auto layer = sampling.layers.rbegin(); layer != sampling.layers.rend(); ++layer) {
    std::vector<int32_t> fanouts(schema.num_edge_types(), layer->fanout.value_or(0));
    for (const job::EdgeTypeFanout& named : layer->edge_types) {
      fanouts[GetExisting(schema.FindEdgeType(named.type)).value] = named.fanout;
    }
    std::set<NodeTypeId> next = reached;
    for (uint16_t type = 0; type < fanouts.size(); ++type) {
      if (fanouts[type] == 0 || !reached.contains(schema.DestinationOf(EdgeTypeId(type)))) continue;
      is_sampled[type] = true;
      next.insert(schema.SourceOf(EdgeTypeId(type)));
    }
    reached = std::move(next);
  }
  return is_sampled;
}

std::vector<FieldError> FindMisfits(const job::DistTraining& job, TrainedBy trained_by, const GraphMetadata& graph) {
  FitCheck check(graph);
  const bool by_espalier = IsTrainedByEspalier(job, trained_by);
  check.CheckTimeColumn(job.graph.time_column, by_espalier && !job.training.sampling.seed_time.empty());
  if (by_espalier) check.CheckTraining(job.training);
  return check.Take();
}

}  // namespace espalier::partitioner
