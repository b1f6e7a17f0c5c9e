// normalizeFeatures and featureDtype by several processes. Rows are converted independently of each other, so no
// process needs a whole column of converted rows. Each process checks whether its range of a column's rows can be
// converted. Later it converts the features of each partition that it builds, those of the nodes and the copies in the
// edge columns, after they were gathered from the source.
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
// `source_columns` names. Memory: a column of the partition, twice. Internal for rows that cannot be converted, which
// CheckFeatureShare has excluded.
Status ConvertFeatures(const graph::SourceGraph& graph, const std::vector<std::string>& source_columns,
                       const graph::PreprocessOptions& options, graph::Partition* partition, int threads);

}  // namespace espalier::partitioner
