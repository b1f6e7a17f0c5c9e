// The document as role binaries read it (--job).
#pragma once

#include <cstdint>
#include <optional>

#include "operator/resources/builders.h"

namespace espalier::ctl::resources {

// Without what only a cluster uses (pods may read it, and a role's template is none of another's business) and
// without what may change while the job runs: a running process's document stays true. The trainers' has the number
// of trainers of their incarnation.
kube::Json JobDocument(const api::DistTraining& training, std::optional<int64_t> trainers);

// Trainers of status.incarnation; before the first one, as many as the document wants.
int64_t CountTrainers(const Context& context);

}  // namespace espalier::ctl::resources
