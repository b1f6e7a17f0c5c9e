// Initial values of a tensor's rows on their owner, computed by the built-in initializers: a pure function of
// (initializer, row space, tensor name, original id, index of the element in its row) and, for kXavierUniform, of the
// tensor's shape. Initializer::stream, if it is set, replaces the name. (plugin_rows.h has the initial values of
// plugins.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "services/sampler/access/tensor_spec.h"

namespace espalier::shard {

// Fills `rows`, [num_rows, row elements] of the spec's dtype, which the caller has set to zeros. original_id(row) is
// called for each local row if the values depend on original ids. The spec has been checked, and its initializer is not
// a plugin's.
void FillRows(const sampler::TensorSpec& spec, const graph::PartitionBook& book,
              const std::function<uint64_t(uint64_t row)>& original_id, uint64_t num_rows, std::byte* rows);

// Returns whether the values depend on original ids. True for plugins, whose values may depend on them.
bool NeedsOriginalIds(const sampler::Initializer& initializer);

}  // namespace espalier::shard
