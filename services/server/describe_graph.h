// Describes a graph in a DescribeResponse.
#pragma once

#include "espalier/graph/v1/graph.pb.h"
#include "services/sampler/routing/partitioned_graph.h"

namespace espalier::server {

// Fills the fields of `response` that describe the graph: schema, partition book, columns, splits.
void DescribeGraph(const sampler::GraphDescription& description, graph::v1::DescribeResponse* response);

}  // namespace espalier::server
