// Types shared by all calls to a partition: the destination of gathered rows, and completion callbacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "services/base/status.h"

namespace espalier::sampler {

// Called exactly once, on any thread, possibly before the call that it belongs to returns.
template <class T>
using Done = std::function<void(Result<T>)>;
using DoneStatus = std::function<void(Status)>;

// The destination of rows: row i is written to out + positions[i] * row_bytes.
struct RowSink {
  std::byte* out = nullptr;             // outlives the call's completion
  size_t row_bytes = 0;                 // must equal the column's (InvalidArgument otherwise)
  std::span<const uint32_t> positions;  // one per row; outlives the call's completion
};

}  // namespace espalier::sampler
