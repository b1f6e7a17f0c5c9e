// The output of `kubectl espalier status -o json`: the status in the API server's format, and derived fields.
#pragma once

#include <string>
#include <vector>

#include "operator/api/dist_training.h"
#include "operator/kubectl/view/job_event.h"

namespace espalier::ctl::view {

// Returns {"name", "namespace", "uid", "epochs", "outputs", "status": {...}, "events": [...]}; fields without a value
// are omitted.
kube::Json StatusJson(const api::DistTraining& training, const std::vector<JobEvent>& events);

// Returns indented JSON that ends with a newline, in plain ASCII, so that names and messages cannot control the
// terminal.
std::string JsonText(const kube::Json& json);

}  // namespace espalier::ctl::view
