// The options normalizeFeatures and featureDtype, applied by several processes. Rows are converted independently of
// each other, so no process needs a whole column of converted rows. Each process checks whether its range of a column's
// rows can be converted. For I8 the processes also exchange the largest magnitudes in their ranges, from which each of
// them computes the same scales. When a process builds a partition, it gathers the features from the source and then
// converts them, both in the node columns and in their copies in the edge columns.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "services/graph/partition.h"
#include "services/graph/preprocess.h"
#include "services/graph/source_graph.h"
#include "services/partitioner/group/process_group.h"

namespace espalier::partitioner {

// The scales of features in I8 by NodeTypeId and column (graph/feature_scales.h).
using FeatureScales = std::vector<std::map<std::string, std::vector<float>>>;

// Checks this process's range of the feature columns' rows. Returns the scales of all features, or no scales if the
// options do not convert features to I8. If a row in the range cannot be converted, returns the error that Preprocess
// would return for the whole graph. Other errors: that of CheckSourceColumns if a column in `source_columns` gets
// scales, those of the group, and DataLoss for invalid magnitudes from another process. `source` must be valid.
Result<FeatureScales> FindFeatureScales(ProcessGroup& group, const graph::SourceGraph& source,
                                        const std::vector<std::string>& source_columns,
                                        const graph::PreprocessOptions& options, int threads);

// Converts the features of `partition`, which was built from the columns of `graph`, and their copies in edge columns.
// `source_columns` names the node columns that are copied (partition::BuildOptions). `scales` is the result of
// FindFeatureScales. Memory: two copies of one column of the partition. Internal for rows that cannot be converted,
// which FindFeatureScales has excluded.
Status ConvertFeatures(const graph::SourceGraph& graph, const std::vector<std::string>& source_columns,
                       const graph::PreprocessOptions& options, const FeatureScales& scales,
                       graph::Partition* partition, int threads);

}  // namespace espalier::partitioner
