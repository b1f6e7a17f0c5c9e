// Calls a plugin's function with a view of the partition and returns its response or an error.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "services/base/clock.h"
#include "services/base/tensor.h"
#include "services/graph/partition.h"
#include "services/server/plugin_library.h"
#include "services/server/plugin_tensors.h"

namespace espalier::server {

// The data that functions see. Must not change while a function may run.
struct PluginPartition {
  std::shared_ptr<const graph::PartitionBook> book;
  std::shared_ptr<const graph::Partition> data;
};

struct PluginCallOptions {
  Deadline deadline;
  // Returns whether the call was cancelled: by the client, by its disconnection or by the deadline. Called on the
  // calling thread.
  std::function<bool()> is_cancelled;
  size_t max_response_bytes = 0;
  PluginTensors* tensors = nullptr;  // outlives the call; null: the function sees no tensors
};

// Runs the function on this thread, then makes the tensor changes that it has requested. Returns the response, U8 [n].
// Errors: the function's own, prefixed with its name; Internal if it throws or returns an undefined status;
// ResourceExhausted if the response exceeds the limit; DeadlineExceeded if there are changes and the deadline has
// passed. After an error the function's changes are not made.
Result<Tensor> CallPlugin(const PluginLibrary::Function& function, const PluginPartition& partition,
                          std::span<const std::byte> request, const PluginCallOptions& options);

}  // namespace espalier::server
