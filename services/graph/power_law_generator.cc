// The rank of a node is its position (0, 1, ...) in the order of falling expected degree. Ranks are assigned to
// communities round-robin: community c of C has the ranks c, c + C, c + 2C, ... The communities therefore have nearly
// the same total expected degree. To draw a destination inside community c, the generator draws a rank from all nodes
// and replaces it with floor(rank / C) * C + c, the community's rank among the same C consecutive ranks. If this rank
// does not exist, C is subtracted from it.
#include "services/base/parallel.h"
#include "services/base/philox.h"
#include "services/graph/generated_nodes.h"
#include "services/graph/generators.h"
#include "services/graph/rank_sampler.h"

namespace espalier::graph {
namespace {

constexpr int64_t kEdgeGrain = 1 << 16;
constexpr uint64_t kBytesOfEdge = 2 * sizeof(uint32_t);
constexpr uint64_t kMaxEdges = uint64_t{1} << 40;

Status CheckOptions(const PowerLawOptions& options) {
  RETURN_IF_ERROR(CheckNodeCount("the number of nodes", options.num_nodes));
  if (options.num_edges > kMaxEdges) {
    return InvalidArgument("the number of edges is " + std::to_string(options.num_edges) + ": expected at most 2^40");
  }
  if (options.num_edges > 0 && options.num_nodes < 2) {
    return InvalidArgument("a graph of one node has no edges except self loops: expected 0 edges or at least 2 nodes");
  }
  RETURN_IF_ERROR(CheckExponent("the exponent of out-degrees", options.out_degree_exponent));
  RETURN_IF_ERROR(CheckExponent("the exponent of in-degrees", options.in_degree_exponent));
  RETURN_IF_ERROR(CheckFraction("the fraction of edges within a community", options.within_community));
  RETURN_IF_ERROR(CheckFraction("the label noise", options.label_noise));
  if (options.community_size == 0) return InvalidArgument("the community size is 0: expected at least 1 node");
  if (options.num_classes < 0 || options.num_classes > (1 << 24)) {
    return InvalidArgument("the number of classes is " + std::to_string(options.num_classes) + ": expected 0 to 2^24");
  }
  RETURN_IF_ERROR(CheckFeatureOptions(options.features));
  return CheckSplitFractions(options.split);
}

// Draws the endpoints of edges as ranks.
class EdgeDrawer {
 public:
  explicit EdgeDrawer(const PowerLawOptions& options)
      : num_nodes_(options.num_nodes),
        num_communities_((options.num_nodes - 1) / options.community_size + 1),  // num_nodes is at least 1
        within_community_(options.within_community),
        key_(GeneratorKey(options.seed, GeneratorStream::kEdges, 0)),
        sources_(options.num_nodes, options.out_degree_exponent,
                 static_cast<double>(options.max_out_degree) / static_cast<double>(options.num_edges)),
        destinations_(options.num_nodes, options.in_degree_exponent, 0) {}

  uint64_t num_communities() const { return num_communities_; }

  struct Ranks {
    uint64_t source, destination;
  };
  // Returns the endpoints of edge number `edge`, which are different ranks.
  Ranks Draw(uint64_t edge) const {
    PhiloxStream random(key_, edge);
    const uint64_t source = sources_.At(random.NextUnitDouble());
    const bool within = random.NextUnitDouble() < within_community_;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      uint64_t destination = destinations_.At(random.NextUnitDouble());
      if (within) destination = MoveToCommunity(source, destination);
      if (destination != source) return {source, destination};
    }
    return {source, (source + 1) % num_nodes_};
  }

 private:
  static constexpr int kAttempts = 8;

  uint64_t MoveToCommunity(uint64_t source, uint64_t rank) const {
    const uint64_t moved = rank - rank % num_communities_ + source % num_communities_;
    return moved < num_nodes_ ? moved : moved - num_communities_;  // the last group of ranks may have fewer than C
  }

  uint64_t num_nodes_;
  uint64_t num_communities_;
  double within_community_;
  uint64_t key_;
  RankSampler sources_;
  RankSampler destinations_;
};

EdgeSet DrawEdges(const PowerLawOptions& options, const EdgeDrawer& drawer, const std::vector<uint32_t>& ids,
                  int threads, WorkMeter* meter) {
  const auto m = static_cast<int64_t>(options.num_edges);
  EdgeSet edges{.sources = Tensor::Zeros(DType::kU32, {m}), .destinations = Tensor::Zeros(DType::kU32, {m})};
  const auto sources = edges.sources.mutable_values<uint32_t>();
  const auto destinations = edges.destinations.mutable_values<uint32_t>();
  ParallelFor(threads, m, kEdgeGrain, [&](int64_t begin, int64_t end) {
    for (auto e = static_cast<size_t>(begin); e < static_cast<size_t>(end); ++e) {
      const EdgeDrawer::Ranks ranks = drawer.Draw(e);
      sources[e] = ids[ranks.source];
      destinations[e] = ids[ranks.destination];
    }
    AddDone(meter, static_cast<uint64_t>(end - begin) * kBytesOfEdge);
  });
  return edges;
}

Tensor DrawWeights(const PowerLawOptions& options, int threads) {
  const auto m = static_cast<int64_t>(options.num_edges);
  Tensor weights = Tensor::Zeros(DType::kF32, {m});
  const std::span<float> values = weights.mutable_values<float>();
  const uint64_t key = GeneratorKey(options.seed, GeneratorStream::kEdgeWeights, 0);
  ParallelFor(threads, m, kEdgeGrain, [&](int64_t begin, int64_t end) {
    for (auto e = static_cast<size_t>(begin); e < static_cast<size_t>(end); ++e) {
      values[e] = 1.0f - UnitFloat(Philox4x32(key, e, 0)[0]);
    }
  });
  return weights;
}

}  // namespace

PowerLawOptions ProductsShaped() {
  return {.name = "products-shaped",
          .num_nodes = 2'449'029,
          .num_edges = 123'500'000,
          .max_out_degree = 9'200,
          .community_size = 8'192,
          .num_classes = 47,
          .features = {.width = 100}};
}

Result<SourceGraph> GeneratePowerLawGraph(const PowerLawOptions& options, int threads, WorkMeter* meter) {
  RETURN_IF_ERROR(CheckOptions(options).While("generating '" + options.name + "'"));
  SourceGraph graph;
  graph.name = options.name;
  ASSIGN_OR_RETURN(graph.schema, GraphSchema::Make({"node"}, {{"node", "edge", "node"}}));

  const EdgeDrawer drawer(options);
  const std::vector<uint32_t> ids =
      ShuffleNodeIds(GeneratorKey(options.seed, GeneratorStream::kNodeOrder, 0), options.num_nodes, threads);
  AddExpected(meter, options.num_edges * kBytesOfEdge + ComputeFeatureBytes(options.num_nodes, options.features));
  graph.edges.push_back(DrawEdges(options, drawer, ids, threads, meter));
  if (options.edge_weights) graph.edges[0].columns[kEdgeWeightColumn] = DrawWeights(options, threads);

  // Without labels, each community is a class of its own for the features.
  const uint64_t num_communities = drawer.num_communities();
  const uint64_t num_classes = options.num_classes == 0 ? num_communities : static_cast<uint64_t>(options.num_classes);
  const NodeClasses classes{
      .ids = ids,
      .class_of_rank = [=](uint64_t rank) { return rank % num_communities % num_classes; },
  };
  NodeSet nodes{.count = options.num_nodes};
  if (options.features.width > 0) {
    nodes.columns[kFeatureColumn] = GenerateFeatures(classes, options.features, options.seed, threads, meter);
  }
  if (options.num_classes > 0) {
    nodes.columns[kLabelColumn] =
        GenerateLabels(classes, options.num_classes, options.label_noise, options.seed, threads);
  }
  graph.nodes.push_back(std::move(nodes));
  graph.splits[kRandomSplit][0] = GenerateSplit(options.num_nodes, options.split, options.seed, 0, threads);
  return graph;
}

}  // namespace espalier::graph
