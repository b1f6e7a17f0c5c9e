// Standalone mode: all partitions of a graph in the process that asks, without graph servers. What DGL's standalone
// mode is, with any number of partitions.
#pragma once

#include "services/client/session.h"

namespace espalier::client {

// Maps and verifies every partition below options.standalone.partitions_uri; the whole graph must fit the machine, and
// its rows are read as they are needed. Everything works as over servers, on the asking thread; tensors and learnable
// rows are this process's own, and go with it, so that one process is all there can be. InvalidArgument: addresses as
// well; FailedPrecondition: another partition key than asked for, or Access::kRpc; DataLoss: damaged files; Cancelled:
// the channel's stop, during a download.
Result<Session> OpenStandalone(const SessionOptions& options);

}  // namespace espalier::client
