#include "operator/kubectl/logs/log_request.h"

#include "services/base/percent_encoding.h"

namespace espalier::ctl::logs {

kube::HttpRequest LogRequest(const kube::ObjectKey& pod, const LogOptions& options) {
  kube::HttpRequest request = kube::GetRequest(kube::kPods, pod);
  request.target += "/log?timestamps=true";
  request.headers = {{"Accept", "text/plain, */*"}};  // errors come as JSON
  const auto add = [&](const char* name, const std::string& value) {
    request.target += std::string("&") + name + "=" + PercentEncode(value, SlashEncoding::kEncode);
  };
  if (!options.container.empty()) add("container", options.container);
  if (options.follow) add("follow", "true");
  if (options.previous) add("previous", "true");
  if (options.tail_lines) add("tailLines", std::to_string(*options.tail_lines));
  if (options.since) add("sinceTime", kube::FormatTime(*options.since));
  if (options.limit_bytes) add("limitBytes", std::to_string(*options.limit_bytes));
  return request;
}

}  // namespace espalier::ctl::logs
