// Summation of the ring: adds received values to the values of this rank.
#pragma once

#include <cstddef>
#include <span>

namespace espalier::client {

// The ranks whose values were received. Values from lower ranks are the left operand of the addition, values from
// higher ranks the right one. The order of the operands matters only if both are NaN: it determines the bits of the
// resulting NaN.
enum class ArrivedFrom { kLowerRanks, kHigherRanks };

// Computes values[i] = arrived[i] + values[i] for kLowerRanks, values[i] + arrived[i] for kHigherRanks. `arrived`
// has values.size_bytes() bytes, of any alignment. T: float, double.
template <class T>
void AddArrived(std::span<const std::byte> arrived, ArrivedFrom from, std::span<T> values);

}  // namespace espalier::client
