// Initial values of tensors, computed by a plugin of the graph server (Initializer::Kind::kPlugin).
// shard::MutableTensors calls this interface, server::PluginInitializers implements it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "services/base/clock.h"
#include "services/graph/partition.h"
#include "services/sampler/access/tensor_spec.h"

namespace espalier::sampler {

// Consecutive rows of one partition. All referenced objects outlive the call.
struct RowsToFill {
  const TensorSpec& spec;
  const graph::PartitionBook& book;
  const graph::Partition& partition;
  uint64_t first_local = 0;                     // local id of the first row
  std::span<const uint64_t> original_ids = {};  // [rows], at least one
  // [rows, row shape...] of the spec's dtype, which Fill writes; not empty, and all zeros before the call.
  std::span<std::byte> values = {};
};

// Thread-safe.
class RowInitializers {
 public:
  virtual ~RowInitializers() = default;
  // Returns OK, or Unimplemented with the names of the existing initializers.
  virtual Status CheckExists(const std::string& name) const = 0;
  // Fills the rows with spec.initializer. An error is the initializer's own, or reports that it does not exist or did
  // not fill the rows correctly; it is never NotFound, AlreadyExists or Aborted, which have other meanings when tensors
  // are created. After the deadline the result is discarded.
  virtual Status Fill(const RowsToFill& rows, Deadline deadline) const = 0;
};

}  // namespace espalier::sampler
