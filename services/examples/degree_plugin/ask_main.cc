// A user program that calls the plugin of degree_plugin.cc on all partitions. Run it with
// `espalier run -f job.yaml --output DIR -- espalier_example_ask_degrees` and the plugin as `degrees` in
// spec.servers.plugins. Rank 0 prints the merged responses and, if the output is a local folder, writes them to
// DIR/result.json.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "espalier/base/environment.h"
#include "espalier/client/dist_graph.h"
#include "espalier/telemetry/process.h"
#include "espalier/telemetry/termination.h"
#include "merge_answers.h"

namespace example {
namespace {

using espalier::Result;
using espalier::Status;

Status Ask() {
  const espalier::client::Environment environment = espalier::client::ProcessEnvironment();
  ASSIGN_OR_RETURN(const espalier::client::Context context, espalier::client::Initialize(environment));
  if (context.rank.value > 0) return Status();
  ASSIGN_OR_RETURN(const auto graph, espalier::client::DistGraph::Open(context));
  const std::string relation = graph->schema().edge_types().front().relation;
  ASSIGN_OR_RETURN(const auto degrees, graph->CallFunctionEverywhere("degrees/in_degrees", relation));
  const std::string node_type = graph->schema().node_types().front();
  ASSIGN_OR_RETURN(const auto rows, graph->CallFunctionEverywhere("degrees/top_rows", node_type + " node-feat 0 5"));

  nlohmann::ordered_json nodes_by_degree = nlohmann::ordered_json::object();
  for (const auto& [degree, nodes] : MergeNodesByDegree(degrees)) nodes_by_degree[std::to_string(degree)] = nodes;
  nlohmann::ordered_json largest = nlohmann::ordered_json::array();
  for (const auto& [value, id] : MergeLargest(rows, 5)) largest.push_back({{"id", id}, {"value", value}});
  const nlohmann::ordered_json result = {{"nodesByInDegree", nodes_by_degree}, {"largest", largest}};
  std::printf("%s\n", result.dump().c_str());
  const std::string output = espalier::FindValue(environment, "ESPALIER_OUTPUT");
  if (!output.starts_with('/')) return Status();  // an s3:// URI, or no output
  return espalier::telemetry::WriteFileAtomically(output + "/result.json", result.dump(2) + "\n");
}

}  // namespace
}  // namespace example

int main() { return espalier::telemetry::EndOfProgram(example::Ask()); }
