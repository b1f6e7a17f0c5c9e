// What all generators give their nodes: shuffled ids, a class, features, labels and a split. Every value is a pure
// function of (seed, stream, node), so threads do not matter.
#pragma once

#include <functional>
#include <vector>

#include "services/base/random_purpose.h"
#include "services/graph/generators.h"

namespace espalier::graph {

// The independent random streams of one generated graph: a key is RandomKey(seed, kGenerator, stream, type).
// Part of what a seed means: never renumber.
enum class GeneratorStream : uint32_t {
  kNodeOrder = 1,
  kEdges = 2,
  kFeatureNoise = 3,
  kClassVectors = 4,
  kLabelNoise = 5,
  kSplit = 6,
  kEdgeWeights = 7,
};

inline uint64_t GeneratorKey(uint64_t seed, GeneratorStream stream, uint64_t type) {
  return RandomKey(seed, RandomPurpose::kGenerator, static_cast<uint32_t>(stream), type);
}

// The permutation rank -> id as a table: [num_nodes].
std::vector<uint32_t> ShuffledNodeIds(uint64_t key, uint64_t num_nodes, int threads);

// class_of_rank is a pure function; features are [num_nodes, width] of the options' dtype.
struct NodeClasses {
  const std::vector<uint32_t>& ids;                      // of ranks; outlives this
  std::function<uint64_t(uint64_t rank)> class_of_rank;  // thread-safe
  uint64_t type = 0;                                     // tells the streams of node types apart
};

Tensor GeneratedFeatures(const NodeClasses& classes, const FeatureOptions& options, uint64_t seed, int threads,
                         WorkMeter* meter);
uint64_t BytesOfFeatures(uint64_t num_nodes, const FeatureOptions& options);
Tensor GeneratedLabels(const NodeClasses& classes, int64_t num_classes, double noise, uint64_t seed, int threads);
NodeSplit GeneratedSplit(uint64_t num_nodes, const SplitFractions& fractions, uint64_t seed, uint64_t type,
                         int threads);

// InvalidArgument names the option.
Status CheckFraction(const std::string& option, double value);
Status CheckFeatureOptions(const FeatureOptions& options);
Status CheckSplitFractions(const SplitFractions& fractions);
Status CheckExponent(const std::string& option, double exponent);
Status CheckNodeCount(const std::string& option, uint64_t num_nodes);

}  // namespace espalier::graph
