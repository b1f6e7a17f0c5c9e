// The document for the programs of the roles (--job).
#pragma once

#include <cstdint>
#include <optional>

#include "operator/resources/builders.h"

namespace espalier::ctl::resources {

// Returns the document for a role's pods. It omits fields that only the operator uses, such as pod templates, and
// fields that may change while the job runs, so that it stays valid for a running process. With `trainers`, the number
// of trainers, returns the document for the trainers, which also has this number, their device, feature cache and
// program.
kube::Json JobDocument(const api::DistTraining& training, std::optional<int64_t> trainers);

// Returns the number of trainers of status.incarnation; before the first incarnation, the number in the document.
int64_t CountTrainers(const Context& context);

}  // namespace espalier::ctl::resources
