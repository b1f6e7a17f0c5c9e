// Graphs of any size made from a seed: for trying things out, for tests and for benchmarks. Bit-identical for any
// number of threads. Needs the output's memory and a permutation of the nodes, nothing more.
#pragma once

#include <string>

#include "services/base/work_meter.h"
#include "services/graph/source_graph.h"

namespace espalier::graph {

// The columns that generators make, named as OGB's readers name them.
inline constexpr char kFeatureColumn[] = "node-feat";
inline constexpr char kLabelColumn[] = "node-label";
inline constexpr char kEdgeWeightColumn[] = "weight";
inline constexpr char kRandomSplit[] = "random";

// Features are `signal` times a random vector of the node's class, plus noise of variance 1 in each value.
struct FeatureOptions {
  int64_t width = 100;        // 0: no features
  DType dtype = DType::kF32;  // F32, F16 or BF16
  double signal = 0.25;       // about signal * sqrt(2 * width) standard deviations lie between two classes
};

struct SplitFractions {
  double train = 0.1;
  double validation = 0.1;
  double test = 0.2;  // the rest is in no part
};

// A homogeneous graph ("node", "edge") with power-law in- and out-degrees and planted communities, in the manner
// of Chung and Lu: an edge's ends are drawn by weights, so that degrees follow a power law in expectation.
// Self loops do not occur; parallel edges may.
struct PowerLawOptions {
  std::string name = "power-law";
  uint64_t num_nodes = 10'000;
  uint64_t num_edges = 100'000;      // directed
  double out_degree_exponent = 2.5;  // P(degree = d) ~ d^-exponent, above 2; a lower one has larger hubs
  double in_degree_exponent = 3.0;
  uint64_t max_out_degree = 0;     // expected degree of the largest hub; 0: as the exponent has it
  uint64_t community_size = 1024;  // nodes; about, communities are equal
  double within_community = 0.75;  // fraction of the edges that must stay inside; others may, by chance
  int64_t num_classes = 10;        // of the I64 labels; a community is of one class; 0: no labels
  double label_noise = 0;          // fraction of the nodes whose label is drawn at random
  FeatureOptions features;
  SplitFractions split;
  bool edge_weights = false;  // an F32 edge column "weight" in (0, 1]
  uint64_t seed = 0;
};

// The size and shape of ogbn-products: 2.4 M nodes, 123 M edges, 100 features, 47 classes.
PowerLawOptions ProductsShaped();

// InvalidArgument names the option that makes no sense. `meter`, unless null, counts the bytes of edges and features.
Result<SourceGraph> GeneratePowerLawGraph(const PowerLawOptions& options, int threads, WorkMeter* meter = nullptr);

// Papers and authors whose classes show only to those who tell relations apart. Papers have `num_classes` relations
// from papers and as many from authors; the sources of relation number r into a paper of class c are of class
// c + r (mod num_classes), so that the sources over all relations are of all classes alike. Features say little.
struct TypedOptions {
  std::string name = "typed";
  uint64_t num_papers = 10'000;
  uint64_t num_authors = 5'000;
  int64_t num_classes = 3;        // 2 to 8
  double edges_per_relation = 5;  // into a paper, on average
  double fidelity = 0.9;          // fraction of the edges whose source is of the said class; others are random
  double out_degree_exponent = 2.5;
  double label_noise = 0;
  FeatureOptions features = {.width = 32, .signal = 0.15};
  SplitFractions split;
  uint64_t seed = 0;
};

Result<SourceGraph> GenerateTypedGraph(const TypedOptions& options, int threads, WorkMeter* meter = nullptr);

}  // namespace espalier::graph
