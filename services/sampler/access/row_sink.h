// Where gathered rows go, and how an asynchronous question is answered: what questions to a partition have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "services/base/status.h"

namespace espalier::sampler {

// Called exactly once, on any thread, possibly before the asking call returns.
template <class T>
using Done = std::function<void(Result<T>)>;
using DoneStatus = std::function<void(Status)>;

// Row i of the answer is written to out + positions[i] * row_bytes.
struct RowSink {
  std::byte* out = nullptr;
  size_t row_bytes = 0;                 // must equal the column's (InvalidArgument otherwise)
  std::span<const uint32_t> positions;  // one per row; outlives the call's completion
};

}  // namespace espalier::sampler
