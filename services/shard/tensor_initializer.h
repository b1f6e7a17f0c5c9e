// First values of a tensor's rows on their owner, by the built-in initialisers: a pure function of (initializer, what
// the rows stand for, tensor name, original id, column). (Those of plugins: plugin_rows.h.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "services/sampler/access/tensor_spec.h"

namespace espalier::shard {

// Fills [num_rows, row elements], which is all zeros. original_id(row) is asked for each local row where the values
// depend on it. The spec has been checked, and its initialiser is no plugin's.
void FillRows(const sampler::TensorSpec& spec, const graph::PartitionBook& book,
              const std::function<uint64_t(uint64_t row)>& original_id, uint64_t num_rows, std::byte* rows);

// True where the values depend on original ids; those of a plugin may.
bool NeedsOriginalIds(const sampler::Initializer& initializer);

}  // namespace espalier::shard
