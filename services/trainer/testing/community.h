// A graph whose communities correspond to its classes, and a job that learns them.
#pragma once

#include "services/graph/source_graph.h"
#include "services/job/dist_training.h"

namespace espalier::trainer {

// 600 nodes of one type with 16 features and a random split.
const graph::SourceGraph& CommunityGraph();
// Returns a job with GraphSAGE of two layers.
job::DistTraining CommunityJob();

}  // namespace espalier::trainer
