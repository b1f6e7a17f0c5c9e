// Standalone mode: all partitions of a graph in this process, without graph servers. Counterpart of DGL's standalone
// mode, with any number of partitions.
#pragma once

#include "services/client/session.h"

namespace espalier::client {

// Maps and verifies every partition below options.standalone.partitions_uri. The whole graph must fit on this machine;
// rows are paged in on demand. All functions behave as with servers and run on the calling thread. Distributed tensors
// and learnable rows are private to this process, so that the world size must be 1. InvalidArgument: addresses are set
// as well; FailedPrecondition: a partition key other than the requested one, or Access::kRpc; DataLoss: damaged files;
// Cancelled: the stop of the channel was requested during a download.
Result<Session> OpenStandalone(const SessionOptions& options);

}  // namespace espalier::client
