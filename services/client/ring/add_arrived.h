// Summation for the ring: adds received values to the values of this rank.
#pragma once

#include <cstddef>
#include <span>

namespace espalier::client {

// Side of the addition on which the received values are. Both sides give the same numbers, except that the side
// determines which of two NaNs is the result.
enum class ArrivedAre { kOfLowerRanks, kOfHigherRanks };

// Computes values[i] = arrived[i] + values[i]. `arrived` has values.size_bytes() bytes, of any alignment. T: float,
// double.
template <class T>
void AddArrived(std::span<const std::byte> arrived, ArrivedAre side, std::span<T> values);

}  // namespace espalier::client
