// normalizeFeatures by several processes. A row is normalised by itself, so that nobody needs a column of normalised
// rows: each process looks whether its range of rows can be normalised, and normalises the rows that a partition gets,
// its nodes' and those that its edges have copies of, once they have been gathered from the source.
#pragma once

#include <string>
#include <vector>

#include "services/graph/partition.h"
#include "services/graph/preprocess.h"
#include "services/graph/source_graph.h"

namespace espalier::partitioner {

// As Preprocess would say it of the whole graph, where this process's range of a column's rows is bad. `source` must be
// valid. Nothing is made.
Status CheckFeatureShare(const graph::SourceGraph& source, uint32_t rank, uint32_t size,
                         const graph::PreprocessOptions& options, int threads);

// Normalises the features of `partition`, which was built from the columns of `graph`, and the copies of them that
// `source_columns` names. Memory: a column of the partition, twice. Internal: rows that CheckFeatureShare did not see.
Status NormalizeFeatures(const graph::SourceGraph& graph, const std::vector<std::string>& source_columns,
                         const graph::PreprocessOptions& options, graph::Partition* partition, int threads);

}  // namespace espalier::partitioner
