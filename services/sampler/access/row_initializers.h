// First values of tensors that a plugin of the owner computes (Initializer::Kind::kPlugin). shard::MutableTensors asks
// for them, server::PluginInitializers answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "services/base/clock.h"
#include "services/graph/partition.h"
#include "services/sampler/access/tensor_spec.h"

namespace espalier::sampler {

// Rows of one partition, one after the other. Everything outlives the call.
struct RowsToFill {
  const TensorSpec& spec;
  const graph::PartitionBook& book;
  const graph::Partition& partition;
  uint64_t first_local = 0;                     // the local row of the first
  std::span<const uint64_t> original_ids = {};  // [rows], at least one
  std::span<std::byte> values = {};             // [rows, row shape...] of the spec's dtype, all zeros; not empty
};

// Thread-safe.
class RowInitializers {
 public:
  virtual ~RowInitializers() = default;
  // Unimplemented names those that there are.
  virtual Status CheckExists(const std::string& name) const = 0;
  // By spec.initializer. An error says what the initialiser says, or that it has not filled the rows as it should; it
  // is none of NotFound, AlreadyExists and Aborted, which mean something else to who makes tensors. After the deadline
  // nobody waits for it any more.
  virtual Status Fill(const RowsToFill& rows, Deadline deadline) const = 0;
};

}  // namespace espalier::sampler
