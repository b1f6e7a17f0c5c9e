// Summation of the ring: adds received values to the values of this rank.
#pragma once

#include <cstddef>
#include <span>

namespace espalier::client {

// Selects the operand of the addition that the received values are: the left one if they are of lower ranks, the right
// one if they are of higher ranks. The order of the operands matters only if both are NaN: it determines which NaN is
// the result.
enum class ArrivedAre { kOfLowerRanks, kOfHigherRanks };

// Computes values[i] = arrived[i] + values[i] for kOfLowerRanks, values[i] + arrived[i] for kOfHigherRanks. `arrived`
// has values.size_bytes() bytes, of any alignment. T: float, double.
template <class T>
void AddArrived(std::span<const std::byte> arrived, ArrivedAre side, std::span<T> values);

}  // namespace espalier::client
