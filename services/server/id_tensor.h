// Ids as answers carry them.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "services/base/tensor.h"

namespace espalier::server {

// U32 [k] where all fit, else U64 [k].
template <class Id>
Tensor IdTensor(const std::vector<Id>& ids) {
  uint64_t all_bits = 0;
  for (const Id id : ids) all_bits |= id.value;
  if (all_bits > 0xffffffffu) {
    std::vector<uint64_t> wide(ids.size());
    for (size_t i = 0; i < ids.size(); ++i) wide[i] = ids[i].value;
    return Tensor::FromVector(std::move(wide));
  }
  std::vector<uint32_t> narrow(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) narrow[i] = static_cast<uint32_t>(ids[i].value);
  return Tensor::FromVector(std::move(narrow));
}

}  // namespace espalier::server
