// Allocates arrays of known lengths in memory or, with a scratch folder, in one mapped file for all arrays. Their
// elements can be written in any order. A single file is used because the number of arrays may exceed the limit of
// mappings per process.
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
  std::vector<Tensor> arrays;         // array i has shape [counts[i]]
  std::vector<std::span<T>> to_fill;  // the same memory, initialized to 0; write it before the arrays are read
};

// Allocates an array of counts[i] elements for each i. An empty `scratch_folder` means memory. Returns errors of
// MakeScratchRegion.
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
