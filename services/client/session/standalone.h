// Standalone mode: all partitions of a graph are opened in the process of the program, without graph servers.
// Counterpart of DGL's standalone mode, for any number of partitions.
#pragma once

#include "services/client/session/session.h"

namespace espalier::client {

// Maps and verifies every partition below options.standalone.partitions_uri and returns a session over them. The graph
// must fit on the machine; rows are read from the mapped files when they are needed. Operations of the graph and of its
// tensors have the same results as with servers, but run on the thread that calls them. Distributed tensors and
// learnable rows exist only in this process and end with it, so the world size must be 1. InvalidArgument:
// options.addresses is set too. FailedPrecondition: the partition key differs from options.partition_key, or
// options.access is Access::kRpc. DataLoss: damaged files. Cancelled: options.channel.stop was requested while
// partitions were loaded.
Result<Session> OpenStandalone(const SessionOptions& options);

}  // namespace espalier::client
