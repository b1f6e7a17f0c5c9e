// Sizes that both ends of a connection must agree on.
#pragma once

#include <cstddef>

namespace espalier::rpc {

// No message is larger; what may grow beyond it is asked for in pieces (client/remote/remote_partition.h).
inline constexpr size_t kMaxMessageBytes = size_t{256} << 20;
// Replies of this size move fastest: larger ones fall out of the processor's cache on their way.
inline constexpr size_t kPreferredReplyBytes = size_t{4} << 20;

}  // namespace espalier::rpc
