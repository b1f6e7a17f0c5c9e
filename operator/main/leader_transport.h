// A transport that sends no writes while this process is not the leader.
//
// A process can stop for longer than its lease lasts (SIGSTOP, a machine that hangs), so that another process leads.
// When the stopped process resumes in the middle of a reconcile, the thread that checks the lease and ends the process
// may not have run yet. Caveat: if the process stops between the check of this transport and the first byte of the
// request, the request is sent all the same. Preconditions (resourceVersion, uid) protect against that.
#pragma once

#include <functional>
#include <utility>

#include "operator/client/transport.h"

namespace espalier::ctl::process {

// `leads` returns whether this process leads. Thread-safe if `leads` is. `inner` must outlive this object.
class LeaderTransport final : public client::HttpTransport {
 public:
  LeaderTransport(client::HttpTransport& inner, std::function<bool()> leads)
      : inner_(inner), leads_(std::move(leads)) {}

  // Returns Cancelled for a write, without sending it, unless this process leads.
  Result<client::HttpResponse> Send(const kube::HttpRequest& request, Deadline deadline,
                                    std::stop_token stop = {}) override;
  // Always sends the request: only reads are streams.
  Result<Stream> Open(const kube::HttpRequest& request, Deadline deadline, std::stop_token stop = {}) override;

 private:
  client::HttpTransport& inner_;
  const std::function<bool()> leads_;
};

}  // namespace espalier::ctl::process
