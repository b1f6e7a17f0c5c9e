// A view of a U32 or U64 tensor that returns its elements as 64-bit ids.
#pragma once

#include <cstdint>

#include "services/base/tensor.h"

namespace espalier::shard {

// The tensor outlives this.
class IdArray {
 public:
  explicit IdArray(const Tensor& ids)
      : narrow_(ids.dtype() == DType::kU32 ? reinterpret_cast<const uint32_t*>(ids.bytes()) : nullptr),
        wide_(reinterpret_cast<const uint64_t*>(ids.bytes())),
        size_(static_cast<uint64_t>(ids.num_elements())) {}

  uint64_t size() const { return size_; }
  uint64_t operator[](uint64_t i) const { return narrow_ != nullptr ? narrow_[i] : wide_[i]; }
  void Prefetch(uint64_t i) const {
    if (narrow_ != nullptr) {
      __builtin_prefetch(narrow_ + i);
    } else {
      __builtin_prefetch(wide_ + i);
    }
  }

 private:
  const uint32_t* narrow_;  // null: wide_ holds the ids
  const uint64_t* wide_;
  uint64_t size_;
};

}  // namespace espalier::shard
