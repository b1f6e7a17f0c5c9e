// Message sizes that both ends of a connection share.
#pragma once

#include <cstddef>

namespace espalier::rpc {

// Maximum size of a message. Clients split requests whose replies would be larger (client/remote/remote_partition.h).
inline constexpr size_t kMaxMessageBytes = size_t{256} << 20;
// Replies of about this size have the highest throughput: larger ones do not stay in the processor's cache.
inline constexpr size_t kPreferredReplyBytes = size_t{4} << 20;

}  // namespace espalier::rpc
