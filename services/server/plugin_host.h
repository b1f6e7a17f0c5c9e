// What a plugin sees of the server while it is called, and what its call ends with.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/graph/partition.h"
#include "services/plugin/espalier_plugin.h"
#include "services/server/plugin_tensors.h"

// The state of a call; plugins have a pointer to it and do not know what it points to. Of one thread.
struct EspalierCall {
  // They outlive the call, and nobody changes them meanwhile.
  const espalier::graph::PartitionBook& book;
  const espalier::graph::Partition& data;
  espalier::Deadline deadline;
  std::function<bool()> is_cancelled = {};  // the caller is gone; empty: it never is
  size_t max_response_bytes = 0;
  espalier::server::PluginTensors* tensors = nullptr;  // outlives the call; null: it sees none
  std::vector<uint8_t> response = {};
  bool is_over_limit = false;
  std::string message = {};            // what the plugin has said of its error
  espalier::Status tensor_error = {};  // of its last answer about tensors; ok: that was none
};

namespace espalier::server {

const EspalierHost& PluginHost();

// Runs a plugin's code on this thread, which is given `call`. Its own error, with `what` in front; Internal where it
// throws, or ends with a status that plugins do not have; ResourceExhausted where the response is over the limit.
Status RunPlugin(const std::string& what, EspalierCall* call, const std::function<int32_t()>& run);

}  // namespace espalier::server
