// A sampled mini-batch as plain arrays.
//
// Nodes of a type are numbered by first occurrence: seeds in batch order, then each expanded node's drawn
// in-edges in stored position order, hop after hop. So the nodes that layer l computes are a prefix of those it
// reads, one array per type serves all layers, and a mini-batch does not depend on partitions or arrival.
//
//   layers:       0 (first, farthest from the seeds)   1 (last)
//   reads rows    [0, num_nodes(0))                    [0, num_nodes(1))
//   writes rows   [0, num_nodes(1))                    [0, num_seeds)
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "services/base/tensor.h"
#include "services/graph/ids.h"

namespace espalier::sampler {

// One layer's edges of one relation: the in-edges of destination row i are indices[indptr[i] .. indptr[i + 1]),
// rows of the source type. There are as many destination rows as the layer writes of the destination type.
struct Block {
  EdgeTypeId edge_type;
  std::vector<uint32_t> indptr;        // [rows written + 1]
  std::vector<uint32_t> indices;       // [edges], < rows read of the source type
  std::vector<GlobalEdgeId> edge_ids;  // [edges], or empty where not asked for
};

struct BatchLayer {
  std::vector<Block> blocks;          // one per relation with a fan-out, ascending edge type
  std::vector<uint32_t> num_inputs;   // rows read, by NodeTypeId
  std::vector<uint32_t> num_outputs;  // rows written, by NodeTypeId
};

// The pairs of a link-prediction batch; ends are rows among the seeds, those of all node types one type after the
// other, ascending. Pairs that stand together may share a set of negatives (NegativeKind::kJoint): set s is that of the
// pairs [set_ends[s - 1], set_ends[s]), and has K = negatives_per_pair destinations. A negative's source and relation
// are its pair's, but for sources that are drawn (kGlobalUniform), where each pair has its own set.
struct LinkSeeds {
  uint32_t negatives_per_pair = 0;
  std::vector<uint32_t> sources = {};                // [pairs]
  std::vector<uint32_t> destinations = {};           // [pairs]
  std::vector<uint32_t> relations = {};              // [pairs], which of LinkPlan::types
  std::vector<uint32_t> set_ends = {};               // [sets], ascending; the last is the number of pairs
  std::vector<uint32_t> negative_destinations = {};  // [sets * K]
  std::vector<uint32_t> negative_sources = {};       // [pairs * K], or empty: the pairs'
  std::vector<uint8_t> negative_weights = {};        // [pairs * K]; 0: none, because it is an edge of the batch
  std::vector<GlobalEdgeId> edge_ids = {};           // [pairs] of seeds listed by ids, or LinkPlan::want_pair_ids
  std::map<std::string, Tensor> rows = {};           // [pairs, row shape...] of each of LinkPlan::edge_columns
};

// The edges of a batch of edge classification or regression; ends are rows among the seeds, as those of LinkSeeds.
struct EdgeSeeds {
  std::vector<uint32_t> sources = {};       // [edges]
  std::vector<uint32_t> destinations = {};  // [edges]
  Tensor labels = {};                       // [edges, row shape...] of EdgePlan::label
};

struct MiniBatch {
  uint32_t epoch = 0;
  uint32_t step = 0;
  // Of links and edges between nodes of several types, one of these: the last layer writes the seeds of each type, and
  // num_seeds counts them all.
  NodeTypeId seed_type;
  uint32_t num_seeds = 0;                        // of this trainer; 0 is legal
  uint32_t global_num_seeds = 0;                 // of all trainers; of links and edges pairs: the weight's denominator
  std::vector<std::vector<GlobalNodeId>> nodes;  // by NodeTypeId; the seeds come first in seed_type's
  // Temporal sampling, where a row is a node at a time: by NodeTypeId, the time of each row. Else empty.
  std::vector<std::vector<int64_t>> times = {};
  std::vector<BatchLayer> layers;       // as SamplingSpec::layers
  std::optional<LinkSeeds> links = {};  // of link prediction
  std::optional<EdgeSeeds> edges = {};  // of edge classification and regression
};

}  // namespace espalier::sampler
