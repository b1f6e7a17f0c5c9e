// Connects a rank to the listening port of another rank.
#pragma once

#include <string>

#include "espalier/collective/v1/ring.pb.h"
#include "services/client/ring/ring_frame.h"
#include "services/client/ring/ring_socket.h"
#include "services/graph/ids.h"

namespace espalier::client {

// Returns a connection to `rank` at "host:port", over TLS unless `tls` is null. With TLS it checks that the peer is a
// trainer of the job. Retries with backoff until the deadline or a stop of `wait`. Unavailable: at least one attempt
// failed and none succeeded before the deadline; the message has the error of the last failed attempt.
// DeadlineExceeded: the deadline passed during the first attempt. Cancelled: a stop was requested. ResourceExhausted,
// without a retry: the process has no descriptors left. InvalidArgument: invalid address.
Result<RingSocket> ConnectToRank(Rank rank, const std::string& address, RingTls* tls, const RingWait& wait);

// Sends a request to rank 0 and returns its response. Blocks until rank 0 responds: when all ranks have joined, or with
// an error. Retries and errors are those of ConnectToRank; a response with the code Unavailable is retried too. Rank 0
// also returns the other errors of RingRendezvous::Join, and Aborted if this rank has sent a newer request.
Result<collective::v1::JoinResponse> JoinAtRank0(const std::string& address, const collective::v1::JoinRequest& request,
                                                 RingTls* tls, const RingWait& wait);

}  // namespace espalier::client
