// Connections of a rank to the port of another one.
#pragma once

#include <string>

#include "espalier/collective/v1/ring.pb.h"
#include "services/client/ring/ring_frame.h"
#include "services/client/ring/ring_socket.h"
#include "services/graph/ids.h"

namespace espalier::client {

// Connects to "host:port", over TLS unless `tls` is null, and checks with TLS that the peer is a trainer of the job.
// Retries with backoff until the wait ends. DeadlineExceeded, Cancelled; Unavailable: why no attempt succeeded before
// the deadline; ResourceExhausted, at once: the process has no descriptors left.
Result<RingSocket> ConnectToRank(Rank rank, const std::string& address, RingTls* tls, const RingWait& wait);

// Sends a request to rank 0 and blocks until it answers. Retries as ConnectToRank, also after Unavailable.
Result<collective::v1::JoinResponse> JoinAtRank0(const std::string& address, const collective::v1::JoinRequest& request,
                                                 RingTls* tls, const RingWait& wait);

}  // namespace espalier::client
