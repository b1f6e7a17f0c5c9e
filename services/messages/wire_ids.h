// Conversion between typed ids and tensors of ids in messages. The tensors are U32 if all ids fit, otherwise U64.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "services/base/tensor.h"
#include "services/graph/ids.h"

namespace espalier::messages {

// Returns the ids as U32 [k]: a copy, because gRPC may keep the bytes of a request after the call has ended.
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

// Return the type with the given number; InvalidArgument if the number does not fit in 16 bits. They do not check that
// the graph has the type.
Result<NodeTypeId> DecodeNodeType(uint32_t number);
Result<EdgeTypeId> DecodeEdgeType(uint32_t number);

// Returns InvalidArgument unless the tensor is U32 or U64 with exactly `count` elements, each below `limit`. A tensor
// without elements may have any dtype. `what` is the name of the ids in errors.
Status CheckIds(const Tensor& tensor, uint64_t count, uint64_t limit, const std::string& what);
// Concatenates tensors that are U32, U64 or empty. Returns U64 if any tensor with elements is U64, otherwise U32. A
// single tensor is returned unchanged.
Tensor ConcatenateIds(std::span<const Tensor> parts);

}  // namespace espalier::messages
