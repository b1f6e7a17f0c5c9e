#include "operator/main/leader_transport.h"

namespace espalier::ctl::process {

Result<client::HttpResponse> LeaderTransport::Send(const kube::HttpRequest& request, Deadline deadline,
                                                   std::stop_token stop) {
  if (request.method != "GET" && !leads_()) return Cancelled("not sent: this process is not the leader");
  return inner_.Send(request, deadline, std::move(stop));
}

Result<client::HttpTransport::Stream> LeaderTransport::Open(const kube::HttpRequest& request, Deadline deadline,
                                                            std::stop_token stop) {
  return inner_.Open(request, deadline, std::move(stop));
}

}  // namespace espalier::ctl::process
