// normalizeFeatures and featureDtype by several processes. Rows are converted independently of each other, so no
// process needs a whole column of converted rows. Each process checks whether its range of a column's rows can be
// converted. For I8 the processes also exchange the largest magnitudes of their ranges, from which all of them compute
// the same scales. Later a process gathers the features of each partition that it builds from the source, and then
// converts them: the features of the nodes and their copies in the edge columns.
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

// Returns the scales of all features, or of none if the options do not convert features to I8. Returns the error that
// Preprocess would return for the whole graph if this process's range of a column's rows cannot be converted, and that
// of CheckSourceColumns for a source column with scales. Further errors: those of the group. `source` must be valid.
Result<FeatureScales> CheckFeatureShare(ProcessGroup& group, const graph::SourceGraph& source,
                                        const std::vector<std::string>& source_columns,
                                        const graph::PreprocessOptions& options, int threads);

// Converts the features of `partition`, which was built from the columns of `graph`, and the copies of them that
// `source_columns` names. `scales` are those of CheckFeatureShare. Memory: a column of the partition, twice. Internal
// for rows that cannot be converted, which CheckFeatureShare has excluded.
Status ConvertFeatures(const graph::SourceGraph& graph, const std::vector<std::string>& source_columns,
                       const graph::PreprocessOptions& options, const FeatureScales& scales,
                       graph::Partition* partition, int threads);

}  // namespace espalier::partitioner
