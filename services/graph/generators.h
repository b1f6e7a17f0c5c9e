// Generators of synthetic graphs of any size, for experiments, tests and benchmarks. A graph depends only on the
// options, which include the seed, not on the number of threads. Memory: the output and a permutation of the nodes.
#pragma once

#include <string>

#include "services/base/work_meter.h"
#include "services/graph/source_graph.h"

namespace espalier::graph {

// Names of generated columns and splits. The columns of features and labels have the names that OGB's data loaders use.
inline constexpr char kFeatureColumn[] = "node-feat";
inline constexpr char kLabelColumn[] = "node-label";
inline constexpr char kEdgeWeightColumn[] = "weight";
inline constexpr char kRandomSplit[] = "random";

// Features are `signal` times a random vector of the node's class, plus noise of variance 1 in each value.
struct FeatureOptions {
  int64_t width = 100;        // 0: no features
  DType dtype = DType::kF32;  // F32, F16 or BF16
  double signal = 0.25;       // the means of two classes are about signal * sqrt(2 * width) standard deviations apart
};

struct SplitFractions {
  double train = 0.1;
  double validation = 0.1;
  double test = 0.2;  // the remaining nodes are in no part
};

// A homogeneous graph ("node", "edge") with power-law in- and out-degrees and planted communities, after the model of
// Chung and Lu: the endpoints of an edge are drawn by weight, so that degrees follow a power law in expectation. There
// are no self loops; parallel edges may occur.
struct PowerLawOptions {
  std::string name = "power-law";
  uint64_t num_nodes = 10'000;
  uint64_t num_edges = 100'000;      // directed
  double out_degree_exponent = 2.5;  // above 2; P(degree = d) ~ d^-exponent, so lower exponents give larger hubs
  double in_degree_exponent = 3.0;
  uint64_t max_out_degree = 0;     // limits the expected degree of the largest hub; 0: no limit
  uint64_t community_size = 1024;  // approximate number of nodes; all communities are about equal
  double within_community = 0.75;  // fraction of edges whose destination is drawn from the source's community
  int64_t num_classes = 10;        // of the I64 labels; each community has one class; 0: no labels
  double label_noise = 0;          // fraction of the nodes whose label is drawn at random
  FeatureOptions features;
  SplitFractions split;
  bool edge_weights = false;  // an F32 edge column "weight" in (0, 1]
  uint64_t seed = 0;
};

// Returns options for a graph of the size of ogbn-products: 2.4 M nodes, 123 M edges, 100 features, 47 classes.
PowerLawOptions ProductsShaped();

// Returns the generated graph. InvalidArgument names the invalid option. `meter`, unless null, counts the bytes of
// edges and features.
Result<SourceGraph> GeneratePowerLawGraph(const PowerLawOptions& options, int threads, WorkMeter* meter = nullptr);

// A graph of papers and authors in which only a model that distinguishes relations can learn the classes. There are
// `num_classes` relations from papers to papers, and as many from authors to papers. The edges of relation r into a
// paper of class c have sources of class c + r (mod num_classes), so that over all relations the sources have all
// classes equally often. Features carry little information.
struct TypedOptions {
  std::string name = "typed";
  uint64_t num_papers = 10'000;
  uint64_t num_authors = 5'000;
  int64_t num_classes = 3;        // 2 to 8
  double edges_per_relation = 5;  // into a paper, on average
  double fidelity = 0.9;  // fraction of the edges with a source of class c + r; other sources have a random class
  double out_degree_exponent = 2.5;
  double label_noise = 0;
  FeatureOptions features = {.width = 32, .signal = 0.15};
  SplitFractions split;
  uint64_t seed = 0;
};

// Returns the generated graph. Errors and `meter` are as for GeneratePowerLawGraph.
Result<SourceGraph> GenerateTypedGraph(const TypedOptions& options, int threads, WorkMeter* meter = nullptr);

}  // namespace espalier::graph
