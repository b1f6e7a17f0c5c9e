// Limits of one request, its response or one stream; beyond them, the request or stream fails with ResourceExhausted.
// Only max_kept_answer_bytes is a limit of a server: beyond it, the oldest stored responses are removed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "services/rpc/limits.h"

namespace espalier::messages {

struct ServiceLimits {
  int32_t max_fanout = 1 << 20;           // the fan-out -1 (all in-edges) is always allowed
  uint64_t max_rows = uint64_t{1} << 24;  // nodes or edges in one request; may be set to at most 2^28
  uint64_t max_reply_bytes = rpc::kMaxMessageBytes;
  // Relations of one hop, so that the response's header stays below its limit. Also edge types of one link plan.
  uint32_t max_relations = 1 << 16;
  uint32_t max_trainers = 1 << 16;
  // Limit of the number of edges that a mini-batch could draw. This number is computed from fan-outs and batch size, so
  // that excessive requests are refused before any work.
  uint64_t max_draws_per_batch = uint64_t{1} << 30;
  uint32_t max_layers = 64;                      // of a mini-batch
  uint32_t max_edge_columns = 64;                // columns whose rows are sent with a mini-batch's edges
  uint32_t max_batches_ahead = 256;              // credits that one mini-batch stream may hold
  size_t max_function_bytes = size_t{32} << 20;  // request or response of a plugin's function
  // Limit of the tensor changes of one function call. The comment on change_rows in espalier_plugin.h says what counts.
  uint64_t max_change_bytes = uint64_t{64} << 20;
  size_t max_kept_answer_bytes = size_t{64} << 20;  // of all stored responses of functions that change tensors
};

}  // namespace espalier::messages
