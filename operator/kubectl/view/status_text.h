// The output of `kubectl espalier status`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "operator/api/dist_training.h"
#include "operator/kubectl/view/job_event.h"

namespace espalier::ctl::view {

enum class Namespaces { kHide, kShow };

// Returns a table with one line per job.
std::string JobTable(std::span<const api::DistTraining> jobs, Namespaces namespaces, kube::WallTime now);

// Returns the status of one job. `events` are oldest first.
std::string StatusText(const api::DistTraining& training, const std::vector<JobEvent>& events, kube::WallTime now);

// Returns the URI of a job's outputs; NotFound, with the violations, if its spec is not valid.
Result<std::string> OutputsUri(const api::DistTraining& training);

// Returns a table with the header "LAST SEEN   TYPE   REASON   OBJECT   MESSAGE" and one line per event; each line
// begins with `indent` spaces.
std::string EventTable(const std::vector<JobEvent>& events, size_t indent, kube::WallTime now);

// Returns "4 started, 2 failures counted (3 allowed); the last restart: OOMKilled".
std::string AttemptsText(const api::DistTraining& training);

// Returns "trainer cora-trainer-1-0-x: OOMKilled: the container used more memory than its limit (exit code 137)".
std::string LastErrorText(const api::LastError& error);

// The column, counted from 0, at which values of fields begin.
inline constexpr size_t kValueColumn = 13;

// Returns "Name:        value\n". Further lines of the value are indented to kValueColumn. The value is made Printable.
std::string Field(const std::string& name, const std::string& value);

}  // namespace espalier::ctl::view
