// URIs that the operator, `espalier run` and the partitioner must construct in the same way.
#pragma once

#include <string>
#include <string_view>

#include "services/job/dist_training.h"

namespace espalier::job {

// Returns `folder` and `name` joined by exactly one '/': "s3://b/x/" and "y" give "s3://b/x/y".
std::string UriBelow(std::string folder, std::string_view name);

// Returns graph.partitions.uri; if that is empty, "<output.uri>/partitions"; if output.uri is also empty, "".
std::string PartitionsUri(const DistTraining& job);

}  // namespace espalier::job
