// Message sizes that both ends of a connection share.
#pragma once

#include <cstddef>

namespace espalier::rpc {

// Default maximum size of a message at a client, and of a reply at a server.
inline constexpr size_t kMaxMessageBytes = size_t{256} << 20;
// Clients split queries into calls with replies of about this size (client/remote/remote_partition.h), which have the
// highest throughput: larger ones do not stay in the processor's cache.
inline constexpr size_t kPreferredReplyBytes = size_t{4} << 20;

}  // namespace espalier::rpc
