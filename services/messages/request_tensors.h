// Tensors of requests as typed arrays: dtype and rank are checked here, ids by whoever answers.
#pragma once

#include <string>
#include <vector>

#include "services/base/tensor.h"
#include "services/graph/ids.h"
#include "services/messages/service_limits.h"

namespace espalier::messages {

// Exactly `expected` tensors came along.
Status CheckTensorCount(const std::vector<Tensor>& tensors, size_t expected);
// U32 [k], k within the limit: local ids, viewed in place.
Result<std::span<const LocalNodeId>> LocalIds(const Tensor& tensor, const ServiceLimits& limits);
// As many rows of so many bytes fit into an answer.
Status CheckReplyRows(size_t num_rows, uint64_t row_bytes, const ServiceLimits& limits);
// U32 or U64 [k] as ids of 64 bits.
template <class Id>
Result<std::vector<Id>> WideIds(const Tensor& tensor, const ServiceLimits& limits);

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
