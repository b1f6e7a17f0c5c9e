#include "services/client/ring/add_arrived.h"

#include <algorithm>
#include <cstring>

#include "services/base/check.h"

namespace espalier::client {
namespace {

constexpr size_t kBlock = 256;

// Not inlined, so that both ranks of an exchange, whose received and own values are on opposite sides, execute the same
// instructions and add in the same order. `sums` must not overlap the summands: the compiler would not vectorize a loop
// in place.
template <class T>
[[gnu::noinline]] void AddBlock(const T* lower, const T* higher, size_t count, T* __restrict__ sums) {
  for (size_t i = 0; i < count; ++i) sums[i] = lower[i] + higher[i];
}

}  // namespace

template <class T>
void AddArrived(std::span<const std::byte> arrived, ArrivedFrom from, std::span<T> values) {
  ESPALIER_CHECK(arrived.size() == values.size_bytes())
      << "received " << arrived.size() << " bytes for values of " << values.size_bytes();
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
