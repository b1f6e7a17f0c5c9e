// What relates the fields of a document to each other.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "services/job/check_fields.h"
#include "services/job/dist_training.h"

namespace espalier::job {

// What the algorithm does not do of what it is to: a field of spec.graph.partitions, and what is wrong with it.
std::vector<std::pair<std::string, std::string>> ConflictsWithAlgorithm(const Partitions& partitions);

// Violations stand where the field that does not fit was written.
void CheckRelations(const DistTraining& job, const CheckedDocument& document, Violations* violations);

}  // namespace espalier::job
