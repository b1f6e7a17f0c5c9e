// Lets nothing be written by a process that does not lead, or does not lead any more.
//
// A process can stand still for longer than its lease lasts (SIGSTOP, a machine that hangs), and go on in the middle of
// a reconcile before the thread that ends it has noticed: by then another leads. Caveat: what stands still between this
// look and the first byte is sent all the same. Preconditions (resourceVersion, uid) hold for that.
#pragma once

#include <functional>
#include <utility>

#include "operator/client/transport.h"

namespace espalier::ctl::process {

// Thread-safe where `leads` is. `inner` outlives this.
class LeadersTransport final : public client::HttpTransport {
 public:
  LeadersTransport(client::HttpTransport& inner, std::function<bool()> leads)
      : inner_(inner), leads_(std::move(leads)) {}

  // Cancelled for a write, and nothing is sent, unless this process leads.
  Result<client::HttpResponse> Send(const kube::HttpRequest& request, Deadline deadline,
                                    std::stop_token stop = {}) override;
  Result<Stream> Open(const kube::HttpRequest& request, Deadline deadline, std::stop_token stop = {}) override;

 private:
  client::HttpTransport& inner_;
  const std::function<bool()> leads_;
};

}  // namespace espalier::ctl::process
