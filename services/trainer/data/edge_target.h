// What edge classification and regression predict: the labels of a split's edges.
#pragma once

#include <torch/torch.h>

#include <optional>
#include <string>
#include <vector>

#include "services/collective/collective.h"
#include "services/job/dist_training.h"
#include "services/trainer/data/graph_access.h"
#include "services/trainer/ops/losses.h"

namespace espalier::trainer {

struct EdgeTarget {
  EdgeTypeId edge_type;
  std::string split;
  std::string label;  // edge column; empty: the graph has none, and labels are never asked for
  LossKind loss = LossKind::kCrossEntropy;
  int64_t num_outputs = 0;   // classes, or a label's values
  uint64_t label_bytes = 0;  // of one edge, in the column; 0: none was seen
};

// `num_outputs` as an existing model has them; none: classes are 0 .. the largest label in any part of the split, and
// other tasks have as many outputs as a label has values. Reads every label of the split once, each rank its share, so
// that a label that does not fit, a pair that is no edge or is several is known before the first step; InvalidArgument
// too where no training edge has a label. Sets `*warnings` to LabelCensus::Warnings().
// Every rank calls it. A job that only applies a model may do without labels; it needs
// num_outputs.
Result<EdgeTarget> MakeEdgeTarget(const job::Training& training, const GraphAccess& graph,
                                  std::optional<int64_t> num_outputs, collective::Collective& collective,
                                  const Timeouts& timeouts, std::vector<std::string>* warnings);

// Training edges of the task's split. NotFound where there is no such split of the edge type.
Result<uint64_t> CountLabelledEdges(const job::Training& training, const GraphAccess& graph);

// Rows of the label's column [n, ...] as Loss takes them: i64 [n], or f32 [n, C]. InvalidArgument where they do not
// fit.
Result<torch::Tensor> ReadLabels(const EdgeTarget& target, const Tensor& rows);

// The edges [chunk * size, (chunk + 1) * size) of a part of the split in the user's order, with their labels where
// `with_labels`.
Result<sampler::GlobalBatch> EdgesOfChunk(const EdgeTarget& target, const GraphAccess& graph, graph::SplitPartName part,
                                          uint64_t chunk, uint64_t size, bool with_labels, Deadline deadline);

struct LabelledEdges {
  std::vector<GlobalNodeId> sources, destinations;  // [n]
  torch::Tensor labels;                             // [n, ...] as ReadLabels has them
};
// The same edges with their labels, wide ones in several reads, so that none is more than a message holds.
Result<LabelledEdges> LabelledEdgesOfChunk(const EdgeTarget& target, const GraphAccess& graph,
                                           graph::SplitPartName part, uint64_t chunk, uint64_t size,
                                           const Timeouts& timeouts);

}  // namespace espalier::trainer
