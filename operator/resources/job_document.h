// The document for the programs of the roles (--job).
#pragma once

#include <cstdint>
#include <optional>

#include "operator/resources/builders.h"

namespace espalier::ctl::resources {

// Returns the document for a role's pods. It lacks the fields that only the operator uses, such as templates of other
// roles, and those that may change while the job runs, so that it stays valid for a running process. With `trainers`,
// it is the document of the trainers, with their number and program.
kube::Json JobDocument(const api::DistTraining& training, std::optional<int64_t> trainers);

// Returns the number of trainers of status.incarnation; before the first incarnation, the number in the document.
int64_t CountTrainers(const Context& context);

}  // namespace espalier::ctl::resources
