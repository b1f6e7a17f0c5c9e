// NameSearch visits the fields of the document in order and looks each name up in the headers of the graph. It collects
// all errors instead of stopping at the first, so that a user can correct them in one edit; each message lists the
// names that exist. Rules about combinations of edge types are not repeated here: the search calls MakeEdgePlan and
// MakeLinkPlan, which the trainers use, and adds their errors.
#include "services/partitioner/checks/document_names.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "services/base/check.h"
#include "services/graph/out_degree_column.h"
#include "services/graph/partition.h"
#include "services/job/sampling/edge_plan.h"
#include "services/job/sampling/link_plan.h"
#include "services/job/text/suggestion.h"
#include "services/partitioner/checks/document_fit.h"

namespace espalier::partitioner {
namespace {

using Names = std::set<std::string>;

template <class Value>
Names ListKeys(const std::map<std::string, Value>& values) {
  Names keys;
  for (const auto& [name, value] : values) keys.insert(name);
  return keys;
}

std::vector<std::string> ToList(const Names& names) { return {names.begin(), names.end()}; }

// Returns the names as a list for messages, without the out-degree columns that cutting adds to every graph.
std::string ToText(const Names& names) {
  std::vector<std::string> own;
  for (const std::string& name : names) {
    if (!name.starts_with(graph::kOutDegreePrefix)) own.push_back(name);
  }
  return graph::JoinNames(own);
}

// Returns "node type 'paper' has no column 'lable' (did you mean 'label'?); it has: feat, label".
std::string DescribeUnknown(const std::string& type, const std::string& what, const std::string& name,
                            const Names& names) {
  return type + " has no " + what + " '" + name + "'" + job::DidYouMean(name, ToList(names)) +
         "; it has: " + ToText(names);
}

// Returns "no edge type has a column 'when'; there are: since, until".
std::string DescribeMissing(const std::string& kind, const std::string& name, const Names& names) {
  return "no " + kind + " has a column '" + name + "'" + job::DidYouMean(name, ToList(names)) +
         "; there are: " + ToText(names);
}

Names MergeNames(const std::vector<std::map<std::string, ColumnHeader>>& by_type) {
  Names all;
  for (Names& names : ListColumnNames(by_type)) all.merge(names);
  return all;
}

class NameSearch {
 public:
  explicit NameSearch(const GraphMetadata& graph) : graph_(graph) {}

  void CheckGraphNames(const job::Graph& graph) {
    const Names node_columns = MergeNames(graph_.node_columns);
    Names edge_columns = MergeNames(graph_.edge_columns);
    // The edge columns that sourceColumns requests are created when the graph is cut, so none can be the time column.
    for (const std::string& name : graph.partitions.source_columns) edge_columns.erase(graph::SourceColumnName(name));
    if (!graph.time_column.empty() && !edge_columns.contains(graph.time_column)) {
      Add("spec.graph.timeColumn", DescribeMissing("edge type", graph.time_column, edge_columns));
    }
    const std::vector<std::string>& copied = graph.partitions.source_columns;
    for (size_t i = 0; i < copied.size(); ++i) {
      if (copied[i] == graph::kOriginalIdColumn || node_columns.contains(copied[i])) continue;
      Add(Item("spec.graph.partitions.sourceColumns", i), DescribeMissing("node type", copied[i], node_columns));
    }
  }

  void CheckTrainingNames(const job::Training& training) {
    const bool only_infers = OnlyInfers(training);
    std::optional<NodeTypeId> seed_type;
    if (!job::HasEdgeSeeds(training.task.type)) {
      seed_type = FindNodeType(training.task.node_type, "spec.training.task.nodeType");
      if (seed_type && !only_infers) CheckNodeTaskNames(training.task, *seed_type);
    } else if (job::LabelsEdges(training.task.type)) {
      CheckLabeledEdgeNames(training.task, only_infers);
    } else {
      CheckLinkNames(training.task, only_infers);
    }
    CheckInputNames(training.inputs);
    CheckSamplingNames(training.sampling, seed_type);
  }

  std::vector<FieldError> Take() { return std::move(unknown_); }

 private:
  static std::string Item(const std::string& path, size_t i) { return path + "[" + std::to_string(i) + "]"; }
  void Add(std::string path, std::string message) { unknown_.push_back({std::move(path), std::move(message)}); }

  // Adds the error of a plan, such as "spec.training.task.edgeTypes: edge type 'a:r:b' is named twice". Does nothing if
  // the status is OK. Trainers would report the same error, but only after the graph is cut.
  void AddPlanError(const Status& error) {
    if (error.ok()) return;
    const std::string& text = error.message();
    const size_t end_of_path = text.find(": ");
    ESPALIER_CHECK(end_of_path != std::string::npos) << "an error that names no field: " << text;
    Add(text.substr(0, end_of_path), text.substr(end_of_path + 2));
  }

  std::string ToString(NodeTypeId type) const { return "node type '" + graph_.schema.NodeTypeName(type) + "'"; }
  std::string ToString(EdgeTypeId type) const { return "edge type '" + graph_.schema.EdgeType(type).Name() + "'"; }

  // Returns the type. If it does not exist, adds an error for the field `path` and returns nullopt.
  template <class Id>
  std::optional<Id> GetOrAddError(const Result<Id>& type, const std::string& path) {
    if (type.ok()) return *type;
    Add(path, type.status().message());
    return std::nullopt;
  }

  std::optional<NodeTypeId> FindNodeType(const std::string& name, const std::string& path) {
    return GetOrAddError(name.empty() ? graph_.schema.OnlyNodeType() : graph_.schema.FindNodeType(name), path);
  }
  std::optional<EdgeTypeId> FindEdgeType(const std::string& name, const std::string& path) {
    return GetOrAddError(name.empty() ? graph_.schema.OnlyEdgeType() : graph_.schema.FindEdgeType(name), path);
  }

  void CheckNodeTaskNames(const job::Task& task, NodeTypeId type) {
    ExpectColumn(type, task.label, "spec.training.task.label");
    const Names splits = ListKeys(graph_.node_splits[type.value]);
    if (!splits.contains(task.split)) {
      Add("spec.training.task.split", DescribeUnknown(ToString(type), "split", task.split, splits));
    }
  }

  void ExpectSplit(EdgeTypeId type, const job::Task& task) {
    const Names splits = ListKeys(graph_.edge_splits[type.value]);
    if (splits.contains(task.split)) return;
    Add("spec.training.task.split", DescribeUnknown(ToString(type), "split", task.split, splits));
  }

  void CheckLabeledEdgeNames(const job::Task& task, bool only_infers) {
    const size_t unknown_before = unknown_.size();
    const std::optional<EdgeTypeId> type = FindEdgeType(task.edge_type, "spec.training.task.edgeType");
    if (type && !only_infers) {
      const Names columns = ListKeys(graph_.edge_columns[type->value]);
      if (!columns.contains(task.label)) {
        Add("spec.training.task.label", DescribeUnknown(ToString(*type), "column", task.label, columns));
      }
      ExpectSplit(*type, task);
    }
    if (task.exclude == job::ExcludeEdges::kReverseEdges) CheckReverseName(task);
    if (unknown_.size() == unknown_before) AddPlanError(job::MakeEdgePlan(task, graph_.schema).status());
  }

  void CheckReverseName(const job::Task& task) {
    if (!task.reverse_edge_type.empty()) FindEdgeType(task.reverse_edge_type, "spec.training.task.reverseEdgeType");
  }

  void CheckLinkNames(const job::Task& task, bool only_infers) {
    const size_t unknown_before = unknown_.size();
    std::vector<EdgeTypeId> types;
    if (!task.edge_type.empty()) {
      if (const auto type = FindEdgeType(task.edge_type, "spec.training.task.edgeType")) types.push_back(*type);
    } else if (!task.edge_types.empty()) {
      for (size_t i = 0; i < task.edge_types.size(); ++i) {
        const auto type = FindEdgeType(task.edge_types[i], Item("spec.training.task.edgeTypes", i));
        if (type) types.push_back(*type);
      }
    } else {
      for (uint16_t type = 0; type < graph_.schema.num_edge_types(); ++type) types.emplace_back(type);
    }
    CheckReverseName(task);
    if (unknown_.size() == unknown_before) AddPlanError(job::MakeLinkPlan(task, graph_.schema).status());
    if (only_infers) return;
    const auto lacks_split = [&](EdgeTypeId type) { return !graph_.edge_splits[type.value].contains(task.split); };
    // Only the first edge type without the split is reported, because a graph may have hundreds of relations.
    const auto first = std::find_if(types.begin(), types.end(), lacks_split);
    if (first != types.end()) ExpectSplit(*first, task);
  }

  void ExpectColumn(NodeTypeId type, const std::string& name, const std::string& path) {
    const Names columns = ListKeys(graph_.node_columns[type.value]);
    if (name == graph::kOriginalIdColumn || columns.contains(name)) return;
    Add(path, DescribeUnknown(ToString(type), "column", name, columns));
  }

  void CheckInputNames(const std::vector<job::Input>& inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const std::string path = Item("spec.training.inputs", i);
      const std::optional<NodeTypeId> type = FindNodeType(inputs[i].node_type, path + ".nodeType");
      if (!type || graph_.num_nodes[type->value] == 0) continue;  // a type without nodes needs no columns
      for (size_t f = 0; f < inputs[i].features.size(); ++f) {
        ExpectColumn(*type, inputs[i].features[f], Item(path + ".features", f));
      }
    }
  }

  void CheckSamplingNames(const job::Sampling& sampling, std::optional<NodeTypeId> seed_type) {
    for (size_t i = 0; i < sampling.layers.size(); ++i) {
      const std::vector<job::EdgeTypeFanout>& named = sampling.layers[i].edge_types;
      for (size_t j = 0; j < named.size(); ++j) {
        FindEdgeType(named[j].type, Item(Item("spec.training.sampling.layers", i) + ".edgeTypes", j) + ".type");
      }
    }
    const Names edge_columns = MergeNames(graph_.edge_columns);
    if (!sampling.draw.weight_column.empty() && !edge_columns.contains(sampling.draw.weight_column)) {
      Add("spec.training.sampling.weight", DescribeMissing("edge type", sampling.draw.weight_column, edge_columns));
    }
    if (!sampling.seed_time.empty() && seed_type) {
      ExpectColumn(*seed_type, sampling.seed_time, "spec.training.sampling.seedTime");
    }
  }

  const GraphMetadata& graph_;  // outlives this
  std::vector<FieldError> unknown_;
};

}  // namespace

bool IsTrainedByEspalier(const job::DistTraining& job, TrainedBy trained_by) {
  return job.has_training && trained_by == TrainedBy::kEspalier && !job.program.has_value();
}

bool OnlyInfers(const job::Training& training) { return training.epochs == 0 && !training.model.uri.empty(); }

std::vector<FieldError> FindUnknownNames(const job::DistTraining& job, TrainedBy trained_by,
                                         const GraphMetadata& graph) {
  NameSearch search(graph);
  search.CheckGraphNames(job.graph);
  if (IsTrainedByEspalier(job, trained_by)) search.CheckTrainingNames(job.training);
  return search.Take();
}

Status CheckDocument(const job::ParsedJob& job, TrainedBy trained_by, const GraphMetadata& graph) {
  std::vector<FieldError> errors = FindUnknownNames(job.training, trained_by, graph);
  // FindMisfits needs the header of each named column, so it runs only if all names exist.
  if (errors.empty()) errors = FindMisfits(job.training, trained_by, graph);
  std::string text;
  for (const FieldError& error : errors) {
    text += (text.empty() ? "" : "\n") + job.places.Of(error.path) + error.path + ": " + error.message;
  }
  return text.empty() ? Status() : InvalidArgument(text);
}

}  // namespace espalier::partitioner
