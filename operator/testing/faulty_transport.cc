#include "operator/testing/faulty_transport.h"

#include "operator/kube/json.h"

namespace espalier::ctl::cluster {

bool IsWrite(const kube::HttpRequest& request) {
  return request.method != "GET" && request.target.find("dryRun=") == std::string::npos;
}

client::HttpResponse ErrorAnswer(int code, const std::string& reason, const std::string& message) {
  client::HttpResponse response;
  response.code = code;
  response.body = kube::Print({{"kind", "Status"},
                               {"apiVersion", "v1"},
                               {"status", "Failure"},
                               {"reason", reason},
                               {"message", message},
                               {"code", code}});
  return response;
}

Result<client::HttpResponse> FaultyTransport::Send(const kube::HttpRequest& request, Deadline deadline,
                                                   std::stop_token stop) {
  ++num_requests_;
  if (fault_) {
    if (auto answer = fault_(request, nullptr)) return *std::move(answer);
  }
  Result<client::HttpResponse> response = below_->Send(request, deadline, std::move(stop));
  if (response.ok() && IsWrite(request) && response->code / 100 == 2) ++num_writes_;
  if (fault_ && response.ok()) {
    if (auto answer = fault_(request, &*response)) return *std::move(answer);
  }
  return response;
}

}  // namespace espalier::ctl::cluster
