// The arithmetic of the ring: values that arrived are added to a rank's own where they lie in the message.
#pragma once

#include <span>

#include "services/rpc/frame.h"

namespace espalier::client {

// Which side of the addition the arrived values are on. Either gives the same numbers; of two NaNs, the result is one
// or the other by side.
enum class ArrivedAre { kOfLowerRanks, kOfHigherRanks };

// sums[i] = arrived[i] + own[i], for the next values of the message; `sums` may be `own`. Takes all of them: the caller
// has compared remaining() with their size. T: float, double.
template <class T>
void AddArrived(rpc::FrameReader& arrived, ArrivedAre side, std::span<const T> own, T* sums);

}  // namespace espalier::client
