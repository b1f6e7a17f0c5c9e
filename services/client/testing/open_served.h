// Starts servers with a plugin and opens a graph over them.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "services/client/graph/dist_graph.h"
#include "services/client/testing/served_graph.h"

namespace espalier::client::testing {

inline ServedGraphOptions WithPlugin(const std::string& name, const std::string& file) {
  auto functions = server::PluginFunctions::Load({{name, file}});
  ESPALIER_CHECK(functions.ok()) << functions.status().ToString();
  ServedGraphOptions options;
  options.functions = *std::move(functions);
  return options;
}

// Opens the graph by RPC as a program of this job.
inline std::unique_ptr<DistGraph> OpenServed(std::vector<std::string> addresses,
                                             std::chrono::seconds call_timeout = std::chrono::seconds(60),
                                             const std::string& job = "") {
  Context context;
  context.session.addresses = std::move(addresses);
  context.session.access = Access::kRpc;
  context.session.job = job;
  context.call_timeout = call_timeout;
  auto graph = DistGraph::Open(context);
  ESPALIER_CHECK(graph.ok()) << graph.status().ToString();
  return *std::move(graph);
}

}  // namespace espalier::client::testing
