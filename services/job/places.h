// Where the parts of a run lie, as URIs: what the operator, `espalier run` and the partitioner must agree on.
#pragma once

#include <string>
#include <string_view>

#include "services/job/dist_training.h"

namespace espalier::job {

// One '/' between them, however many `folder` ends in: "s3://b/x/" + "y" = "s3://b/x/y".
std::string UriBelow(std::string folder, std::string_view name);

// graph.partitions.uri, else "<output.uri>/partitions"; "" where the document has neither.
std::string PartitionsUri(const DistTraining& job);

}  // namespace espalier::job
