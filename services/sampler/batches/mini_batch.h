// A sampled mini-batch as plain arrays.
//
// Nodes of a type are numbered by first occurrence: seeds in batch order, then each expanded node's drawn in-edges in
// stored order, hop after hop. So the nodes that layer l computes are a prefix of those that it reads, one array per
// type serves all layers, and a mini-batch does not depend on partitions or on the order of responses.
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
  std::vector<GlobalEdgeId> edge_ids;  // [edges], or empty if not requested
};

struct BatchLayer {
  std::vector<Block> blocks;          // one per relation with a fan-out, ascending edge type
  std::vector<uint32_t> num_inputs;   // rows read, by NodeTypeId
  std::vector<uint32_t> num_outputs;  // rows written, by NodeTypeId
};

// The pairs of a link-prediction batch. An endpoint is a row number among the seeds of all node types, concatenated in
// ascending order of type. Consecutive pairs may share a set of negatives (NegativeKind::kJoint): set s belongs to
// the pairs [set_ends[s - 1], set_ends[s]) and has K = negatives_per_pair destinations. A negative has the source and
// relation of its pair, unless sources are drawn (kGlobalUniform); then each pair has its own set.
struct LinkSeeds {
  uint32_t negatives_per_pair = 0;
  std::vector<uint32_t> sources = {};                // [pairs]
  std::vector<uint32_t> destinations = {};           // [pairs]
  std::vector<uint32_t> relations = {};              // [pairs], indices into LinkPlan::types
  std::vector<uint32_t> set_ends = {};               // [sets], ascending; the last one is the number of pairs
  std::vector<uint32_t> negative_destinations = {};  // [sets * K]
  std::vector<uint32_t> negative_sources = {};       // [pairs * K], or empty: the sources of the pairs
  std::vector<uint8_t> negative_weights = {};        // [pairs * K]; 0: masked, because it is an edge of the batch
  std::vector<GlobalEdgeId> edge_ids = {};           // [pairs] for seeds listed by ids, or LinkPlan::want_pair_ids
  std::map<std::string, Tensor> rows = {};           // [pairs, row shape...] by LinkPlan::edge_columns
};

// The edges of a batch of edge classification or regression. An endpoint is a row number among the seeds, as in
// LinkSeeds.
struct EdgeSeeds {
  std::vector<uint32_t> sources = {};       // [edges]
  std::vector<uint32_t> destinations = {};  // [edges]
  Tensor labels = {};                       // [edges, row shape...] of EdgePlan::label
};

struct MiniBatch {
  uint32_t epoch = 0;
  uint32_t step = 0;
  // For links and edges between nodes of several types, this is one of the types: the last layer writes the seeds of
  // each type, and num_seeds counts all of them.
  NodeTypeId seed_type;
  uint32_t num_seeds = 0;                        // of this trainer; may be 0
  uint32_t global_num_seeds = 0;                 // of all trainers, seed nodes or seed edges; the loss is divided by it
  std::vector<std::vector<GlobalNodeId>> nodes;  // by NodeTypeId; the list of a type begins with its seeds
  // For temporal sampling, where a row is a node at a time: by NodeTypeId, the time of each row. Otherwise empty.
  std::vector<std::vector<int64_t>> times = {};
  std::vector<BatchLayer> layers;       // in the order of SamplingSpec::layers
  std::optional<LinkSeeds> links = {};  // for link prediction
  std::optional<EdgeSeeds> edges = {};  // for edge classification and regression
};

}  // namespace espalier::sampler
