// `kubectl espalier status -o json`: the status as the API server has it, and what is derived from it.
#pragma once

#include <string>
#include <vector>

#include "operator/api/dist_training.h"
#include "operator/kubectl/view/job_event.h"

namespace espalier::ctl::view {

// {"name", "namespace", "uid", "epochs", "outputs", "status": {...}, "events": [...]}; what is not known is left out.
kube::Json StatusJson(const api::DistTraining& training, const std::vector<JobEvent>& events);

// Indented, ended by a newline, and plain ASCII: what a name or message holds commands no terminal.
std::string JsonText(const kube::Json& json);

}  // namespace espalier::ctl::view
