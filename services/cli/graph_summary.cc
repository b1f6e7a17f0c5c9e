#include "services/cli/graph_summary.h"

#include <nlohmann/json.hpp>

namespace espalier::cli {
namespace {

// Returns the name, dtype and row shape of each column: "node-feat F32 [100], node-label I64".
std::string ColumnsText(const std::map<std::string, Tensor>& columns) {
  std::string text;
  for (const auto& [name, column] : columns) {
    text += (text.empty() ? "" : ", ") + name + " " + ToString(column.dtype());
    for (size_t d = 1; d < column.shape().size(); ++d) text += " [" + std::to_string(column.shape()[d]) + "]";
  }
  return text.empty() ? "no columns" : text;
}

nlohmann::ordered_json ColumnsJson(const std::map<std::string, Tensor>& columns) {
  auto json = nlohmann::ordered_json::object();
  for (const auto& [name, column] : columns) {
    json[name] = {{"dtype", ToString(column.dtype())},
                  {"rowShape", std::vector<int64_t>(column.shape().begin() + 1, column.shape().end())}};
  }
  return json;
}

template <class Split>
std::string CountsText(const Split& split) {
  return std::to_string(split.train.size()) + " train, " + std::to_string(split.validation.size()) + " validation, " +
         std::to_string(split.test.size()) + " test";
}

// Returns "12 self loops dropped, 88 reverse edges added". Changes that affected no edges are omitted.
std::string ChangesText(const graph::EdgeChanges& changes) {
  std::string text;
  const auto add = [&](uint64_t count, const std::string& noun, const char* what) {
    if (count == 0) return;
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + noun + (count == 1 ? " " : "s ") + what;
  };
  add(changes.self_loops_dropped, "self loop", "dropped");
  add(changes.reverses_added, "reverse edge", "added");
  add(changes.duplicates_dropped, "duplicate", "dropped");
  add(changes.held_out_dropped, "held-out edge", "dropped");
  add(changes.training_pairs_dropped, "training pair", "dropped (held out, or the reverse of a held-out edge)");
  return text.empty() ? "none dropped, none added" : text;
}

}  // namespace

std::string SummaryAsText(const graph::SourceGraph& graph, const std::string& path, const graph::EdgeChanges* changes,
                          const std::vector<std::string>& warnings) {
  std::string text = graph.name + " at " + path + "\n";
  for (size_t t = 0; t < graph.nodes.size(); ++t) {
    text += "  nodes " + graph.schema.node_types()[t] + ": " + std::to_string(graph.nodes[t].count) + "; " +
            ColumnsText(graph.nodes[t].columns) + "\n";
  }
  for (size_t t = 0; t < graph.edges.size(); ++t) {
    text += "  edges " + graph.schema.edge_types()[t].Name() + ": " + std::to_string(graph.edges[t].num_edges()) +
            "; " + ColumnsText(graph.edges[t].columns) + "\n";
  }
  if (changes != nullptr) text += "  edges changed: " + ChangesText(*changes) + "\n";
  for (const auto& [name, by_type] : graph.splits) {
    for (const auto& [type, split] : by_type) {
      text += "  split " + name + " of " + graph.schema.node_types()[type] + ": " + CountsText(split) + "\n";
    }
  }
  for (const auto& [name, by_type] : graph.edge_splits) {
    for (const auto& [type, split] : by_type) {
      text += "  split " + name + " of " + graph.schema.edge_types()[type].Name() + ": " + CountsText(split) + "\n";
    }
  }
  for (const std::string& warning : warnings) text += "  warning: " + warning + "\n";
  return text;
}

std::string SummaryAsJson(const graph::SourceGraph& graph, const std::string& path, const graph::EdgeChanges* changes,
                          const std::vector<std::string>& warnings) {
  nlohmann::ordered_json json = {{"name", graph.name}, {"path", path}};
  auto& nodes = json["nodes"] = nlohmann::ordered_json::object();
  for (size_t t = 0; t < graph.nodes.size(); ++t) {
    nodes[graph.schema.node_types()[t]] = {{"count", graph.nodes[t].count},
                                           {"columns", ColumnsJson(graph.nodes[t].columns)}};
  }
  auto& edges = json["edges"] = nlohmann::ordered_json::object();
  for (size_t t = 0; t < graph.edges.size(); ++t) {
    edges[graph.schema.edge_types()[t].Name()] = {{"count", graph.edges[t].num_edges()},
                                                  {"columns", ColumnsJson(graph.edges[t].columns)}};
  }
  if (changes != nullptr) {
    json["edgeChanges"] = {{"selfLoopsDropped", changes->self_loops_dropped},
                           {"reverseEdgesAdded", changes->reverses_added},
                           {"duplicatesDropped", changes->duplicates_dropped},
                           {"heldOutDropped", changes->held_out_dropped},
                           {"trainingPairsDropped", changes->training_pairs_dropped}};
    json["warnings"] = warnings;
  }
  auto& splits = json["splits"] = nlohmann::ordered_json::object();
  for (const auto& [name, by_type] : graph.splits) {
    for (const auto& [type, split] : by_type) {
      splits[name][graph.schema.node_types()[type]] = {
          {"train", split.train.size()}, {"validation", split.validation.size()}, {"test", split.test.size()}};
    }
  }
  for (const auto& [name, by_type] : graph.edge_splits) {
    for (const auto& [type, split] : by_type) {
      splits[name][graph.schema.edge_types()[type].Name()] = {
          {"train", split.train.size()}, {"validation", split.validation.size()}, {"test", split.test.size()}};
    }
  }
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace espalier::cli
