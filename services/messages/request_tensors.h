// Tensors of requests as typed arrays. The functions that return ids return InvalidArgument for a wrong dtype or
// number of dimensions; the code that answers the request checks the ids.
#pragma once

#include <string>
#include <vector>

#include "services/base/tensor.h"
#include "services/graph/ids.h"
#include "services/messages/service_limits.h"

namespace espalier::messages {

// Returns InvalidArgument unless the request has exactly `expected` tensors.
Status CheckTensorCount(const std::vector<Tensor>& tensors, size_t expected);
// Returns a view of the local ids in a tensor U32 [k]. ResourceExhausted if k exceeds limits.max_rows.
Result<std::span<const LocalNodeId>> LocalIds(const Tensor& tensor, const ServiceLimits& limits);
// Returns ResourceExhausted if `num_rows` rows of `row_bytes` bytes do not fit into a response.
Status CheckReplyRows(size_t num_rows, uint64_t row_bytes, const ServiceLimits& limits);
// Returns the ids of a tensor U32 or U64 [k] as 64-bit ids. ResourceExhausted if k exceeds limits.max_rows.
template <class Id>
Result<std::vector<Id>> WideIds(const Tensor& tensor, const ServiceLimits& limits);

// Checks that a tensor of ids is U32 [k] or, if `wide_allowed`, U64 [k]. ResourceExhausted if k exceeds
// limits.max_rows.
Status CheckIdTensor(const Tensor& tensor, bool wide_allowed, const ServiceLimits& limits);

template <class Id>
Result<std::vector<Id>> WideIds(const Tensor& tensor, const ServiceLimits& limits) {
  RETURN_IF_ERROR(CheckIdTensor(tensor, /*wide_allowed=*/true, limits));
  std::vector<Id> ids;
  ids.reserve(static_cast<size_t>(tensor.num_elements()));
  if (tensor.dtype() == DType::kU32) {
    for (const uint32_t id : tensor.values<uint32_t>()) ids.emplace_back(id);
  } else {
    for (const uint64_t id : tensor.values<uint64_t>()) ids.emplace_back(id);
  }
  return ids;
}

}  // namespace espalier::messages
