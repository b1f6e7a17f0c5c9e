// normalizeFeatures and featureDtype by several processes. Each row is converted by itself, so no process needs a whole
// column of converted rows: each process checks whether its range of rows can be converted, and converts the rows of
// the partitions that it builds, their nodes' and the copies that their edges have, once they have been gathered from
// the source.
#pragma once

#include <string>
#include <vector>

#include "services/graph/partition.h"
#include "services/graph/preprocess.h"
#include "services/graph/source_graph.h"

namespace espalier::partitioner {

// Returns the error that Preprocess would return for the whole graph if this process's range of a column's rows cannot
// be converted. `source` must be valid.
Status CheckFeatureShare(const graph::SourceGraph& source, uint32_t rank, uint32_t size,
                         const graph::PreprocessOptions& options, int threads);

// Converts the features of `partition`, which was built from the columns of `graph`, and the copies of them that
// `source_columns` names. Memory: a column of the partition, twice. Internal: rows that CheckFeatureShare did not see.
Status ConvertFeatures(const graph::SourceGraph& graph, const std::vector<std::string>& source_columns,
                       const graph::PreprocessOptions& options, graph::Partition* partition, int threads);

}  // namespace espalier::partitioner
