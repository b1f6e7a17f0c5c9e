// One call of a plugin's function: what it sees of the partition, and what its answer comes to.
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

// What functions see. Immutable while anybody may call them.
struct PluginPartition {
  std::shared_ptr<const graph::PartitionBook> book;
  std::shared_ptr<const graph::Partition> data;
};

struct PluginCallOptions {
  Deadline deadline;
  std::function<bool()> is_cancelled;  // the caller is gone; asked on the calling thread
  size_t max_response_bytes = 0;
  PluginTensors* tensors = nullptr;  // outlives the call; null: it sees none
};

// Runs it on this thread, and makes the changes of tensors that it has asked for. U8 [n], what it has answered. Its own
// errors, with its name in front; Internal where it throws, or ends with a status that functions do not have;
// ResourceExhausted where the response is over the limit; DeadlineExceeded where there are changes and the time is
// over. After an error nothing is changed.
Result<Tensor> CallPlugin(const PluginLibrary::Function& function, const PluginPartition& partition,
                          std::span<const std::byte> request, const PluginCallOptions& options);

}  // namespace espalier::server
