// The host side of a plugin call: the functions of the server that a plugin can call, and the state of one call.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/graph/partition.h"
#include "services/plugin/espalier_plugin.h"
#include "services/server/plugin_tensors.h"

// The state of a call. Plugins hold a pointer to this opaque type. Used by one thread.
struct EspalierCall {
  // Both outlive the call and do not change during the call.
  const espalier::graph::PartitionBook& book;
  const espalier::graph::Partition& data;
  espalier::Deadline deadline;
  std::function<bool()> is_cancelled = {};  // returns whether the call was cancelled; empty: never
  size_t max_response_bytes = 0;
  espalier::server::PluginTensors* tensors = nullptr;  // outlives the call; null: the plugin sees no tensors
  std::vector<uint8_t> response = {};
  bool is_over_limit = false;          // the response would exceed max_response_bytes
  bool is_out_of_memory = false;       // there was no memory for a part of the response
  std::string message = {};            // error text set by the plugin
  espalier::Status tensor_error = {};  // status of the plugin's last tensor operation
};

namespace espalier::server {

// Returns the function table that plugins call (services/plugin/espalier_plugin.h).
const EspalierHost& PluginHost();

// Runs `run`, plugin code that uses `call`, on this thread. Errors: ResourceExhausted if the response exceeds the limit
// or memory for it was lacking, whatever the plugin returned; otherwise the plugin's own, prefixed with `what`, or
// Internal if it threw or returned an undefined status.
Status RunPlugin(const std::string& what, EspalierCall* call, const std::function<int32_t()>& run);

}  // namespace espalier::server
