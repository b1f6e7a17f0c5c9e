// Ids between the process (64 bits, typed) and the wire (32 bits where they fit).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "services/base/tensor.h"
#include "services/graph/ids.h"

namespace espalier::client {

// U32 [k], in memory of its own: gRPC may hold a request's bytes after the call has ended.
template <class LocalId>
Tensor LocalIdTensor(std::span<const LocalId> locals) {
  std::vector<uint32_t> ids(locals.size());
  for (size_t i = 0; i < locals.size(); ++i) ids[i] = locals[i].value;
  return Tensor::FromVector(std::move(ids));
}

// U32 [k] where all fit, else U64 [k].
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

// U32 or U64 of exactly `count` elements, each below `limit`; `what` names them in errors.
Status CheckIds(const Tensor& tensor, uint64_t count, uint64_t limit, const std::string& what);
// One after another; U64 where any is, else U32. All are U32 or U64, or empty.
Tensor ConcatenateIds(std::span<const Tensor> parts);

}  // namespace espalier::client
