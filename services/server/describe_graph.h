// What Describe says of a graph. Pure.
#pragma once

#include "espalier/graph/v1/graph.pb.h"
#include "services/sampler/routing/partitioned_graph.h"

namespace espalier::server {

void DescribeGraph(const sampler::GraphDescription& description, graph::v1::DescribeResponse* response);

}  // namespace espalier::server
