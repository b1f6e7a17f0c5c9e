// The node data that all generators share: shuffled IDs, classes, features, labels and a split. Every value depends
// only on the options, the seed and the node, so results do not depend on the number of threads.
#pragma once

#include <functional>
#include <vector>

#include "services/base/random_purpose.h"
#include "services/graph/generators.h"

namespace espalier::graph {

// The independent random streams of one generated graph: a key is RandomKey(seed, kGenerator, stream, type). The graph
// of a seed depends on these numbers: never renumber.
enum class GeneratorStream : uint32_t {
  kNodeOrder = 1,
  kEdges = 2,
  kFeatureNoise = 3,
  kClassVectors = 4,
  kLabelNoise = 5,
  kSplit = 6,
  kEdgeWeights = 7,
};

// Returns the key of a stream. `type` distinguishes the node types, or for kEdges the relations.
inline uint64_t GeneratorKey(uint64_t seed, GeneratorStream stream, uint64_t type) {
  return RandomKey(seed, RandomPurpose::kGenerator, static_cast<uint32_t>(stream), type);
}

// Returns a random permutation from rank to ID as a table: [num_nodes]. The rank of a node is its position (0, 1, ...)
// in the order of falling expected degree (rank_sampler.h).
std::vector<uint32_t> ShuffleNodeIds(uint64_t key, uint64_t num_nodes, int threads);

// The classes of the nodes of one type. class_of_rank is a pure function.
struct NodeClasses {
  const std::vector<uint32_t>& ids;                      // by rank; must outlive this
  std::function<uint64_t(uint64_t rank)> class_of_rank;  // thread-safe
  uint64_t type = 0;                                     // selects the node type's random streams
};

// Returns features [num_nodes, width] of options.dtype: the class vector scaled by the signal, plus noise. `meter`,
// unless null, counts the bytes of the features.
Tensor GenerateFeatures(const NodeClasses& classes, const FeatureOptions& options, uint64_t seed, int threads,
                        WorkMeter* meter);
// Returns the size in bytes of the features of `num_nodes` nodes.
uint64_t ComputeFeatureBytes(uint64_t num_nodes, const FeatureOptions& options);
// Returns labels I64 [num_nodes]. With probability `noise`, a node has a random label instead of
// its class.
Tensor GenerateLabels(const NodeClasses& classes, int64_t num_classes, double noise, uint64_t seed, int threads);
// Returns a random split of `num_nodes` nodes. `type` selects the random stream.
NodeSplit GenerateSplit(uint64_t num_nodes, const SplitFractions& fractions, uint64_t seed, uint64_t type, int threads);

// Checks of generator options. InvalidArgument names the option, its value and the valid range.
Status CheckFraction(const std::string& option, double value);
Status CheckFeatureOptions(const FeatureOptions& options);
Status CheckSplitFractions(const SplitFractions& fractions);
Status CheckExponent(const std::string& option, double exponent);
Status CheckNodeCount(const std::string& option, uint64_t num_nodes);

}  // namespace espalier::graph
