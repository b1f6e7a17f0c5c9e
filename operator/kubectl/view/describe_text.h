// What `kubectl espalier describe` prints: why a job has failed, or does not go on, on one screen.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operator/kubectl/view/failed_pod.h"
#include "operator/kubectl/view/job_event.h"

namespace espalier::ctl::view {

struct LogTail {
  std::string title;               // "last lines of container trainer"
  std::vector<std::string> lines;  // as the container wrote them
  std::string problem;             // why there are none
};

struct Explanation {
  const api::DistTraining& training;  // outlives this
  std::optional<FailedPod> failed;
  std::vector<LogTail> tails;
  std::vector<JobEvent> warnings;  // oldest first
  bool may_read_pods = true;       // false: nothing is known of them
};

// For a terminal of so many columns (40 at least): at most 50 rows, none of them wider, in which what the fields leave
// is shared by the log lines and warnings that came last. Without a terminal everything, in whole lines.
std::string DescribeText(const Explanation& explanation, kube::WallTime now,
                         std::optional<size_t> columns = std::nullopt);

}  // namespace espalier::ctl::view
