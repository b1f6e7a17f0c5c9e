// The output of `kubectl espalier describe`: why a job has failed or does not proceed, on one screen.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operator/kubectl/view/failed_pod.h"
#include "operator/kubectl/view/job_event.h"

namespace espalier::ctl::view {

struct LogTail {
  std::string title;               // "Last lines of container trainer"
  std::vector<std::string> lines;  // as the container wrote them
  std::string problem;             // why the lines are missing
};

struct Explanation {
  const api::DistTraining& training;  // must outlive this
  std::optional<FailedPod> failed;
  std::vector<LogTail> tails;
  std::vector<JobEvent> warnings;  // oldest first
  bool may_read_pods = true;       // false: nothing is known about pods
};

// Returns the text. For a terminal with `columns` columns (fewer than 40 count as 40), the text has at most 50 rows,
// and no row is wider than the terminal. The newest log lines and warnings share the rows that the fields do not need.
// Without a terminal, the text is complete and has whole lines.
std::string DescribeText(const Explanation& explanation, kube::WallTime now,
                         std::optional<size_t> columns = std::nullopt);

}  // namespace espalier::ctl::view
