// What `kubectl espalier status` prints.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "operator/api/dist_training.h"
#include "operator/kubectl/view/job_event.h"

namespace espalier::ctl::view {

enum class Namespaces { kHide, kShow };

// One line a job.
std::string JobTable(std::span<const api::DistTraining> jobs, Namespaces namespaces, kube::WallTime now);

// One job, as it stands. `events` are oldest first.
std::string StatusText(const api::DistTraining& training, const std::vector<JobEvent>& events, kube::WallTime now);

// Where a job's outputs lie; NotFound with the violations where its spec is not valid.
Result<std::string> OutputsUri(const api::DistTraining& training);

// "   LAST SEEN   TYPE   REASON   OBJECT   MESSAGE" and a line for each.
std::string EventTable(const std::vector<JobEvent>& events, size_t indent, kube::WallTime now);

// "4 begun, 2 counted of 3 allowed; the last restart: OOMKilled"
std::string AttemptsText(const api::DistTraining& training);

// "trainer cora-trainer-1-0-x: OOMKilled: the container used more memory than its limit (exit code 137)"
std::string LastErrorText(const api::LastError& error);

// Where the values of fields begin.
inline constexpr size_t kValueColumn = 13;

// "Name:       value"; of a value of several lines, the others stand below its first. The value is made Printable.
std::string Field(const std::string& name, const std::string& value);

}  // namespace espalier::ctl::view
