// A sampled mini-batch as plain arrays.
//
// The nodes of a type are the rows of the mini-batch, numbered by first occurrence: first the seeds in batch order,
// then the source nodes of the sampled in-edges, hop after hop, by edge type, by expanded node, and in the order in
// which the in-edges of a node are stored. So the rows that a layer computes are a prefix of the rows that it reads,
// one array per type serves all layers, and the numbers do not depend on partitions or on the order of responses.
// With two layers, for each node type:
//
//   layers[0] (farthest from the seeds)   reads rows [0, num_inputs), writes rows [0, num_outputs)
//   layers[1] (last)                      reads the rows that layers[0] has written, writes the rows of the seeds
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "services/base/tensor.h"
#include "services/graph/ids.h"

namespace espalier::sampler {

// One layer's edges of one relation in CSC format: indices[indptr[i] .. indptr[i + 1]) are the source rows of the
// in-edges of destination row i.
struct Block {
  EdgeTypeId edge_type;
  std::vector<uint32_t> indptr;        // [num_outputs of the destination type + 1]
  std::vector<uint32_t> indices;       // [edges], below num_inputs of the source type
  std::vector<GlobalEdgeId> edge_ids;  // [edges], or empty if not requested
};

struct BatchLayer {
  std::vector<Block> blocks;          // one per relation whose fan-out is not 0, ascending edge type
  std::vector<uint32_t> num_inputs;   // rows read, by NodeTypeId
  std::vector<uint32_t> num_outputs;  // rows written, by NodeTypeId
};

// The pairs of a link-prediction batch. An endpoint is a row number among the seeds of all node types, concatenated in
// ascending order of type. Consecutive pairs may share a set of negatives (NegativeKind::kJoint): set s belongs to
// the pairs [set_ends[s - 1], set_ends[s]), from 0 for s = 0, and has K = negatives_per_pair destinations. A negative
// has the source and relation of its pair, except that kGlobalUniform also draws its source.
struct LinkSeeds {
  uint32_t negatives_per_pair = 0;
  std::vector<uint32_t> sources = {};                // [pairs]
  std::vector<uint32_t> destinations = {};           // [pairs]
  std::vector<uint32_t> relations = {};              // [pairs], indices into LinkPlan::types
  std::vector<uint32_t> set_ends = {};               // [sets], ascending; the last one is the number of pairs
  std::vector<uint32_t> negative_destinations = {};  // [sets * K]
  std::vector<uint32_t> negative_sources = {};       // [pairs * K], or empty: the sources of the pairs
  std::vector<uint8_t> negative_weights = {};        // [pairs * K]; 0 if masked (seeds/negatives.h), otherwise 1
  std::vector<GlobalEdgeId> edge_ids = {};           // [pairs] with LinkPlan::want_pair_ids (GlobalBatch::edge_ids)
  std::map<std::string, Tensor> rows = {};           // the pairs' values in LinkPlan::edge_columns, [pairs, ...]
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
  // The type of the seed nodes; with `links` or `edges`, whose endpoints are the seed nodes and may have several types,
  // the destination type of the first edge type.
  NodeTypeId seed_type;
  uint32_t num_seeds = 0;  // seed nodes of this trainer, of all types; may be 0
  // Number of seed nodes (with `links` or `edges`: of seed edges) of all trainers; of this trainer if each has its own
  // seeds (client::NodeShare, client::EdgeShare). The loss is divided by it.
  uint32_t global_num_seeds = 0;
  std::vector<std::vector<GlobalNodeId>> nodes;  // by NodeTypeId; the list of a type begins with its seeds
  // For temporal sampling, where a row is a pair of a node and a time: by NodeTypeId, the time of each row. Otherwise
  // empty.
  std::vector<std::vector<int64_t>> times = {};
  std::vector<BatchLayer> layers;       // in the order of SamplingSpec::layers
  std::optional<LinkSeeds> links = {};  // for link prediction
  std::optional<EdgeSeeds> edges = {};  // for edge classification and regression
};

}  // namespace espalier::sampler
