// Conversion between typed ids of 64 bits and tensors of ids in messages, which have 32 bits if all ids fit.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "services/base/tensor.h"
#include "services/graph/ids.h"

namespace espalier::messages {

// Returns a copy as U32 [k]: gRPC may keep the bytes of a request after the call has ended.
template <class LocalId>
Tensor LocalIdTensor(std::span<const LocalId> locals) {
  std::vector<uint32_t> ids(locals.size());
  for (size_t i = 0; i < locals.size(); ++i) ids[i] = locals[i].value;
  return Tensor::FromVector(std::move(ids));
}

// Returns U32 [k] if all ids fit, otherwise U64 [k].
template <class Id>
Tensor WideIdTensor(std::span<const Id> ids) {
  uint64_t all_bits = 0;
  for (const Id id : ids) all_bits |= id.value;
  if (all_bits <= 0xffffffffu) {
    std::vector<uint32_t> narrow;
    narrow.reserve(ids.size());
    for (const Id id : ids) narrow.push_back(static_cast<uint32_t>(id.value));
    return Tensor::FromVector(std::move(narrow));
  }
  std::vector<uint64_t> wide;
  wide.reserve(ids.size());
  for (const Id id : ids) wide.push_back(id.value);
  return Tensor::FromVector(std::move(wide));
}

template <class Id>
Tensor WideIdTensor(const std::vector<Id>& ids) {
  return WideIdTensor(std::span<const Id>(ids));
}

// Types are numbers of 16 bits in the process and of 32 on the wire.
Result<NodeTypeId> DecodeNodeType(uint32_t number);
Result<EdgeTypeId> DecodeEdgeType(uint32_t number);

// Checks that the tensor is U32 or U64 with exactly `count` elements, each below `limit`. `what` names it in errors.
Status CheckIds(const Tensor& tensor, uint64_t count, uint64_t limit, const std::string& what);
// Concatenates tensors that are U32, U64 or empty. Returns U64 if any is U64, otherwise U32.
Tensor ConcatenateIds(std::span<const Tensor> parts);

}  // namespace espalier::messages
