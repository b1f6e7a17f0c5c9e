// Summation for the ring: adds received values to the values of this rank directly from the message.
#pragma once

#include <span>

#include "services/rpc/frame.h"

namespace espalier::client {

// Side of the addition on which the received values are. Both sides give the same numbers, except that the side
// determines which of two NaNs is the result.
enum class ArrivedAre { kOfLowerRanks, kOfHigherRanks };

// Computes sums[i] = arrived[i] + own[i] for the next own.size() values of the message; `sums` may be `own`. The caller
// must have checked that arrived.remaining() is at least own.size_bytes(). T: float, double.
template <class T>
void AddArrived(rpc::FrameReader& arrived, ArrivedAre side, std::span<const T> own, T* sums);

}  // namespace espalier::client
