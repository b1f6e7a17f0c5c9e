// The prediction target of edge classification and regression: the labels of a split's edges.
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
  std::string label;  // edge column; empty: the graph has no such column, and labels are not read
  LossKind loss = LossKind::kCrossEntropy;
  int64_t num_outputs = 0;   // number of classes, or of values per label
  uint64_t label_bytes = 0;  // bytes per edge in the column; 0: the split has no edges, or labels are not read
};

// Returns the target of the job's task. `num_outputs` is the number of outputs of an existing model. If it is nullopt,
// the number of outputs is, for single-label classification, the largest label in any part of the split plus one, and
// otherwise the number of values per label. Every rank must call it.
//
// Reads every label of the split once, each rank its share, so that a label that does not fit, or an edge of the split
// that is not in the graph or is ambiguous (SeedQuery::edge_column), is reported before the first step. If the job
// trains, sets `*warnings` to LabelCensus::Warnings(), and returns InvalidArgument if there are training edges, but
// none has a label. A job that only applies a model needs no labels; without labels, the caller must pass
// `num_outputs`.
Result<EdgeTarget> MakeEdgeTarget(const job::Training& training, const GraphAccess& graph,
                                  std::optional<int64_t> num_outputs, collective::Collective& collective,
                                  const Timeouts& timeouts, std::vector<std::string>* warnings);

// Converts rows of the label column, [n, ...], to labels as losses.h expects them: i64 [n] for classification with a
// single label, otherwise f32 [n, C]. InvalidArgument if a label does not fit the target.
Result<torch::Tensor> ToLabels(const EdgeTarget& target, const Tensor& rows);

// Returns the edges [chunk * size, (chunk + 1) * size) of a part of the split, in the user's order. With `with_labels`,
// also returns the rows of the label column.
Result<sampler::GlobalBatch> ReadEdgeChunk(const EdgeTarget& target, const GraphAccess& graph,
                                           graph::SplitPartName part, uint64_t chunk, uint64_t size, bool with_labels,
                                           Deadline deadline);

struct LabeledEdges {
  std::vector<GlobalNodeId> sources, destinations;  // [n]
  torch::Tensor labels;                             // as returned by ToLabels
};
// Returns the edges of ReadEdgeChunk with their labels. Reads many or wide labels in several requests, so that each
// response fits into one message.
Result<LabeledEdges> ReadLabeledEdgeChunk(const EdgeTarget& target, const GraphAccess& graph, graph::SplitPartName part,
                                          uint64_t chunk, uint64_t size, const Timeouts& timeouts);

}  // namespace espalier::trainer
