#include "operator/client/client_metrics.h"

namespace espalier::ctl::client {

void ClientMetrics::Count(const std::string& method, int code, std::chrono::nanoseconds duration) {
  const std::string code_text = code == 0 ? "<error>" : std::to_string(code);
  registry
      .AddCounter("rest_client_requests_total", "Requests to the API server, including retries.",
                  {{"code", code_text}, {"method", method}})
      .Add();
  registry
      .AddHistogram("rest_client_request_duration_seconds",
                    "Time from sending a request to its response; for a watch, to the response headers.",
                    {0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60}, {{"verb", method}})
      .Observe(std::chrono::duration<double>(duration).count());
}

}  // namespace espalier::ctl::client
