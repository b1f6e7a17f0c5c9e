// Negative edges of a step. A negative is a true edge with another destination or, for kGlobalUniform, with other
// endpoints; a node that replaces a destination is called a negative too. The model learns to distinguish negatives
// from true edges. Negatives are a pure function of (seed, epoch, step, position in the global batch), so they do not
// depend on partitions, trainers or samplers. The groups of kJoint and kInBatch are formed in the global batch, not in
// a trainer's share of it.
//
//   kUniform        `count` nodes for each edge, every node of its destination's type equally likely
//                   (DGL's dgl.dataloading.negative_sampler.PerSourceUniform)
//   kJoint          the edges form groups of `count`, and the edges of a group share `count` nodes (GraphStorm's
//                   "joint", DGL-KE's chunks; Zheng et al., "DGL-KE: Training knowledge graph embeddings at scale",
//                   SIGIR 2020). This gives as many scores as kUniform from far fewer nodes. If the edges end at
//                   several node types, each group has `count` nodes of each type
//   kInBatch        the edges form groups of `count` + 1, and the negatives of an edge are the destinations of the
//                   other edges of its group. An edge has fewer negatives if its group is the last one and incomplete,
//                   or if destinations of other edges in the group have another node type
//   kInDegree       `count` nodes for each edge, in proportion to their in-degree among the training edges: training
//                   edges of any type are drawn without replacement, and their destinations are the negatives
//                   (MakeInDegreeQuery). Negatives whose type differs from that of the edge's destination are masked
//   kGlobalUniform  `count` pairs for each edge, both endpoints uniform (DGL's GlobalUniform, without its retries)
//
// A negative is masked (LinkSeeds::negative_weights) if the global batch has an edge of the same type with the same
// endpoints. If the type is its own reverse type, the reverse of each edge of the batch counts as an edge of the batch.
// Negatives that are other true edges are not detected, as in DGL and GraphStorm: they are rare in sparse graphs.
#pragma once

#include <cstdint>
#include <vector>

#include "services/base/random_purpose.h"
#include "services/sampler/access/seed_source.h"
#include "services/sampler/spec/negative_kind.h"

namespace espalier::sampler {

struct NegativeSpec {
  NegativeKind kind = NegativeKind::kUniform;
  uint32_t count = 1;  // per edge; 0 with kUniform: no negatives
};
// Returns InvalidArgument for a count of 0 with another kind than kUniform.
Status CheckNegatives(const NegativeSpec& negatives);

// Which endpoint of a negative is drawn.
enum class NegativeEnd : uint32_t { kDestination = 0, kSource = 1 };

// Returns the Philox key of a step's negatives. The stream of DrawNodes is the edge's position in the global batch or,
// for kJoint, the number of its group.
constexpr uint64_t NegativesKey(uint64_t seed, uint32_t epoch, uint32_t step, NegativeEnd end) {
  return RandomKey(seed, RandomPurpose::kNegatives, epoch, step, static_cast<uint32_t>(end));
}

// Returns `count` original ids below num_nodes, which must be above 0. Id k is floor(w * num_nodes / 2^64), where w
// consists of the words 2k (high half) and 2k + 1 (low half) of PhiloxStream(key, stream).
std::vector<uint64_t> DrawNodes(uint64_t key, uint64_t stream, uint64_t num_nodes, uint32_t count);

// kJoint: returns the number of the group of the edge at `position` in the global batch. `count` is NegativeSpec's.
constexpr uint64_t FindJointGroup(uint64_t position, uint32_t count) { return position / count; }

// The positions [first, last) of a group of edges in the global batch.
struct BatchGroup {
  uint64_t first = 0;
  uint64_t last = 0;
};
// kInBatch: returns the group of the edge at `position` in a global batch of `batch_size` edges.
BatchGroup FindInBatchGroup(uint64_t position, uint32_t count, uint64_t batch_size);

// kInDegree: returns the query for the training edges whose destinations are a step's negatives. Negative k of the edge
// at position i is destination number (i * count + k) modulo the number of returned edges, which is
// min(negatives_of_step, num_edges). `num_edges` is the number of edges in the training part. negatives_of_step and
// num_edges are above 0.
SeedQuery MakeInDegreeQuery(std::vector<EdgeTypeId> types, const std::string& split, uint64_t seed, uint32_t epoch,
                            uint32_t step, uint64_t negatives_of_step, uint64_t num_edges);

}  // namespace espalier::sampler
