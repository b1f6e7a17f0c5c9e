// Arrays whose lengths are known, filled in any order: each in memory, or, with a scratch folder, all in one file there
// that is mapped. One file, since there may be more arrays than a process may have mappings.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "services/base/tensor.h"
#include "services/format/source/scratch_file.h"

namespace espalier::format {

template <class T>
struct ArraySlots {
  std::vector<Tensor> arrays;         // [counts[i]] each
  std::vector<std::span<T>> to_fill;  // the same bytes, zeros at first; to be written before anybody reads the arrays
};

// An empty folder: memory. Errors of MakeScratchRegion.
template <class T>
Result<ArraySlots<T>> MakeArraySlots(std::span<const uint64_t> counts, const std::string& scratch_folder) {
  ArraySlots<T> slots;
  if (scratch_folder.empty()) {
    for (const uint64_t count : counts) {
      slots.arrays.push_back(Tensor::Zeros(DTypeOf<T>::value, {static_cast<int64_t>(count)}));
      slots.to_fill.push_back(slots.arrays.back().template mutable_values<T>());
    }
    return slots;
  }
  uint64_t total = 0;
  for (const uint64_t count : counts) total += count;
  ASSIGN_OR_RETURN(const ScratchRegion region, MakeScratchRegion(scratch_folder, total * sizeof(T)));
  T* next = reinterpret_cast<T*>(region.bytes.data());
  for (const uint64_t count : counts) {
    slots.arrays.push_back(Tensor::Wrap(DTypeOf<T>::value, {static_cast<int64_t>(count)}, next, region.owner));
    slots.to_fill.emplace_back(next, count);
    next += count;
  }
  return slots;
}

}  // namespace espalier::format
