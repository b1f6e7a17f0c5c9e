#include "operator/kubectl/view/job_event.h"

#include <algorithm>

#include "operator/kube/workload.h"

namespace espalier::ctl::view {

Result<JobEvent> ParseJobEvent(const kube::Json& object) {
  ASSIGN_OR_RETURN(kube::Event event, kube::ParseEvent(object));
  const int64_t count = std::max(kube::IntegerAt(object, {"count"}).value_or(1),
                                 kube::IntegerAt(object, {"series", "count"}).value_or(1));
  return JobEvent{.last_seen = event.last_seen,
                  .type = kube::StringAt(object, {"type"}),
                  .reason = std::move(event.reason),
                  .object = event.involved_kind + " " + kube::StringAt(object, {"involvedObject", "name"}),
                  .message = std::move(event.message),
                  .count = count};
}

std::vector<JobEvent> SelectNewest(std::vector<JobEvent> events, size_t count) {
  std::stable_sort(events.begin(), events.end(),
                   [](const JobEvent& a, const JobEvent& b) { return a.last_seen < b.last_seen; });
  if (events.size() > count) events.erase(events.begin(), events.end() - static_cast<ptrdiff_t>(count));
  return events;
}

}  // namespace espalier::ctl::view
