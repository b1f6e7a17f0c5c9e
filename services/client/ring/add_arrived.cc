#include "services/client/ring/add_arrived.h"

#include <algorithm>
#include <cstring>

#include "services/base/check.h"

namespace espalier::client {
namespace {

constexpr size_t kBlock = 256;  // values that are copied and added at a time

// Not inlined: both ranks of an exchange must execute the same instructions, although the received values are the left
// operand on one rank and the right operand on the other. `sums` is a separate array, because the compiler does not
// vectorize the loop if it may overlap the summands.
template <class T>
[[gnu::noinline]] void AddBlock(const T* lower, const T* higher, size_t count, T* __restrict__ sums) {
  for (size_t i = 0; i < count; ++i) sums[i] = lower[i] + higher[i];
}

}  // namespace

template <class T>
void AddArrived(std::span<const std::byte> arrived, ArrivedFrom from, std::span<T> values) {
  ESPALIER_CHECK(arrived.size() == values.size_bytes())
      << "received " << arrived.size() << " bytes, expected " << values.size_bytes();
  T block[kBlock], sums[kBlock];
  while (!values.empty()) {
    const std::span<T> own = values.first(std::min(kBlock, values.size()));
    std::memcpy(block, arrived.data(), own.size_bytes());  // `arrived` may be unaligned
    if (from == ArrivedFrom::kLowerRanks) {
      AddBlock(block, own.data(), own.size(), sums);
    } else {
      AddBlock(own.data(), block, own.size(), sums);
    }
    std::memcpy(own.data(), sums, own.size_bytes());
    arrived = arrived.subspan(own.size_bytes());
    values = values.subspan(own.size());
  }
}

template void AddArrived<float>(std::span<const std::byte>, ArrivedFrom, std::span<float>);
template void AddArrived<double>(std::span<const std::byte>, ArrivedFrom, std::span<double>);

}  // namespace espalier::client
