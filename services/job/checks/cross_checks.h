// Checks of the relations between the fields of a document.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "services/job/checks/check_fields.h"
#include "services/job/dist_training.h"

namespace espalier::job {

// Returns the fields of spec.graph.partitions that the partitioning algorithm does not support, each as (field name,
// error message).
std::vector<std::pair<std::string, std::string>> ConflictsWithAlgorithm(const Partitions& partitions);

// Adds a violation for each field of `job` that conflicts with another field, at the position of that field. `document`
// is the checked document that `job` was made from.
void CheckRelations(const DistTraining& job, const CheckedDocument& document, Violations* violations);

}  // namespace espalier::job
