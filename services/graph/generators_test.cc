#include "services/graph/generators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "services/graph/id_values.h"
#include "services/graph/rank_sampler.h"

namespace espalier::graph {
namespace {

using ::testing::HasSubstr;

bool SameBytes(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         (a.empty() || std::memcmp(a.bytes(), b.bytes(), a.size_bytes()) == 0);
}

void ExpectSameGraph(const SourceGraph& a, const SourceGraph& b) {
  ASSERT_EQ(a.schema, b.schema);
  for (size_t t = 0; t < a.edges.size(); ++t) {
    EXPECT_TRUE(SameBytes(a.edges[t].sources, b.edges[t].sources));
    EXPECT_TRUE(SameBytes(a.edges[t].destinations, b.edges[t].destinations));
    for (const auto& [name, column] : a.edges[t].columns) EXPECT_TRUE(SameBytes(column, b.edges[t].columns.at(name)));
  }
  for (size_t t = 0; t < a.nodes.size(); ++t) {
    for (const auto& [name, column] : a.nodes[t].columns) EXPECT_TRUE(SameBytes(column, b.nodes[t].columns.at(name)));
  }
  for (const auto& [name, by_type] : a.splits) {
    for (const auto& [type, split] : by_type) EXPECT_EQ(split.train, b.splits.at(name).at(type).train);
  }
}

PowerLawOptions Small() {
  return {.num_nodes = 5'000,
          .num_edges = 200'000,
          .community_size = 500,
          .num_classes = 5,
          .features = {.width = 6},
          .edge_weights = true,
          .seed = 3};
}

TEST(PowerLawGraphTest, IsValidAndTheSameForAnyNumberOfThreads) {
  const SourceGraph one = *GeneratePowerLawGraph(Small(), 1);
  const SourceGraph four = *GeneratePowerLawGraph(Small(), 4);

  EXPECT_EQ(ValidateSourceGraph(one, 1), Status());
  ExpectSameGraph(one, four);
  PowerLawOptions other_seed = Small();
  other_seed.seed = 4;
  EXPECT_FALSE(SameBytes(one.edges[0].sources, GeneratePowerLawGraph(other_seed, 1)->edges[0].sources));
}

TEST(PowerLawGraphTest, MetersTheBytesOfEdgesAndFeatures) {
  WorkMeter power_law, typed;
  ASSERT_TRUE(GeneratePowerLawGraph(Small(), 2, &power_law).ok());
  ASSERT_TRUE(GenerateTypedGraph({.num_papers = 300, .num_authors = 100, .features = {.width = 3}}, 2, &typed).ok());

  const uint64_t num_nodes = Small().num_nodes;
  EXPECT_EQ(power_law.done_bytes(), 200'000 * 8 + num_nodes * 6 * sizeof(float));
  EXPECT_EQ(power_law.expected_bytes(), power_law.done_bytes());
  EXPECT_GT(typed.done_bytes(), 0u);
  EXPECT_EQ(typed.expected_bytes(), typed.done_bytes());
}

TEST(PowerLawGraphTest, HasRequestedCommunities) {
  const SourceGraph graph = *GeneratePowerLawGraph(Small(), 2);
  const auto sources = graph.edges[0].sources.values<uint32_t>();
  const auto destinations = graph.edges[0].destinations.values<uint32_t>();
  const auto labels = graph.nodes[0].columns.at(kLabelColumn).values<int64_t>();
  size_t same_class = 0;
  for (size_t e = 0; e < sources.size(); ++e) {
    ASSERT_NE(sources[e], destinations[e]);
    same_class += labels[sources[e]] == labels[destinations[e]] ? 1 : 0;
  }
  // 10 communities, 5 classes: three quarters stay inside, a fifth of the rest meets the same class by chance.
  EXPECT_NEAR(static_cast<double>(same_class) / static_cast<double>(sources.size()), 0.75 + 0.25 * 0.2, 0.01);
  const auto weights = graph.edges[0].columns.at(kEdgeWeightColumn).values<float>();
  EXPECT_GT(*std::min_element(weights.begin(), weights.end()), 0);
  EXPECT_LE(*std::max_element(weights.begin(), weights.end()), 1);
}

TEST(PowerLawGraphTest, HasHubsOfRequestedDegree) {
  PowerLawOptions options = Small();
  options.max_out_degree = 2'000;
  options.within_community = 0;
  const SourceGraph graph = *GeneratePowerLawGraph(options, 2);
  std::vector<double> degrees(options.num_nodes);
  for (const uint32_t source : graph.edges[0].sources.values<uint32_t>()) degrees[source]++;
  std::sort(degrees.rbegin(), degrees.rend());
  EXPECT_NEAR(degrees[0], 2'000, 5 * std::sqrt(2'000));
  EXPECT_LT(degrees[options.num_nodes / 2], 40);  // half of the nodes are below the mean
  EXPECT_GT(degrees[options.num_nodes / 2], 5);
}

TEST(PowerLawGraphTest, SplitsHaveRequestedSizesAndFeaturesSeparateClasses) {
  PowerLawOptions options = Small();
  options.features = {.width = 64, .dtype = DType::kBF16, .signal = 1};
  options.split = {.train = 0.5, .validation = 0.2, .test = 0.3};
  const SourceGraph graph = *GeneratePowerLawGraph(options, 2);
  const NodeSplit& split = graph.splits.at(kRandomSplit).at(0);
  EXPECT_EQ(split.train.size(), 2'500u);
  EXPECT_EQ(split.validation.size(), 1'000u);
  EXPECT_EQ(split.test.size(), 1'500u);

  // For nearly every test node, the nearest class mean of the training nodes is that of its class.
  const Tensor& features = graph.nodes[0].columns.at(kFeatureColumn);
  const auto labels = graph.nodes[0].columns.at(kLabelColumn).values<int64_t>();
  std::vector<std::vector<double>> means(5, std::vector<double>(64));
  for (const uint64_t v : split.train) {
    for (size_t j = 0; j < 64; ++j) {
      means[static_cast<size_t>(labels[v])][j] += features.ValueAsDouble(static_cast<int64_t>(v * 64 + j)) / 500;
    }
  }
  size_t right = 0;
  for (const uint64_t v : split.test) {
    std::vector<double> distances;
    for (const std::vector<double>& mean : means) {
      double distance = 0;
      for (size_t j = 0; j < 64; ++j) {
        distance += std::pow(features.ValueAsDouble(static_cast<int64_t>(v * 64 + j)) - mean[j], 2);
      }
      distances.push_back(distance);
    }
    right += std::min_element(distances.begin(), distances.end()) - distances.begin() == labels[v] ? 1 : 0;
  }
  EXPECT_GT(right, 1'480u);
}

TEST(PowerLawGraphTest, LabelNoiseChangesThatFractionOfLabels) {
  PowerLawOptions options = Small();
  const SourceGraph clean = *GeneratePowerLawGraph(options, 1);
  options.label_noise = 0.5;
  const SourceGraph noisy = *GeneratePowerLawGraph(options, 1);
  const auto a = clean.nodes[0].columns.at(kLabelColumn).values<int64_t>();
  const auto b = noisy.nodes[0].columns.at(kLabelColumn).values<int64_t>();
  double changed = 0;
  for (size_t i = 0; i < a.size(); ++i) changed += a[i] != b[i] ? 1 : 0;
  EXPECT_NEAR(changed / 5'000, 0.5 * 0.8, 0.03);
}

TEST(PowerLawGraphTest, AllowsTinyGraphsAndOddCommunities) {
  for (const uint64_t nodes : {2, 3, 7, 10}) {
    for (const uint64_t community : {uint64_t{1}, uint64_t{2}, uint64_t{3}, uint64_t{100}, UINT64_MAX}) {
      const Result<SourceGraph> graph = GeneratePowerLawGraph(
          {.num_nodes = nodes, .num_edges = 500, .community_size = community, .features = {.width = 1}}, 1);
      ASSERT_TRUE(graph.ok());
      EXPECT_EQ(ValidateSourceGraph(*graph, 1), Status());
    }
  }
  EXPECT_TRUE(GeneratePowerLawGraph({.num_nodes = 1, .num_edges = 0}, 1).ok());
}

TEST(PowerLawGraphTest, NamesInvalidOption) {
  const auto message = [](const PowerLawOptions& options) {
    return GeneratePowerLawGraph(options, 1).status().message();
  };
  EXPECT_THAT(message({.num_nodes = 0}), HasSubstr("the number of nodes is 0"));
  EXPECT_THAT(message({.num_nodes = 1, .num_edges = 1}), HasSubstr("one node has no edges"));
  EXPECT_THAT(message({.out_degree_exponent = 2}), HasSubstr("the exponent of out-degrees is 2"));
  EXPECT_THAT(message({.within_community = 1.5}), HasSubstr("within a community is 1.5"));
  EXPECT_THAT(message({.label_noise = std::nan("")}), HasSubstr("label noise"));
  EXPECT_THAT(message({.features = {.dtype = DType::kI64}}), HasSubstr("the feature dtype is I64"));
  EXPECT_THAT(message({.split = {.train = 0.8, .validation = 0.2, .test = 0.1}}), HasSubstr("sum of the split's"));
}

TEST(RankSamplerTest, DrawsRanksWithTheirShares) {
  const RankSampler ranks(1'000, 3.0, 0);
  // Weights r^-1/2: the first k ranks of n have the share sqrt(k / n).
  EXPECT_EQ(ranks.At(std::sqrt(0.1) - 1e-6), 99u);
  EXPECT_EQ(ranks.At(std::sqrt(0.1) + 1e-6), 100u);
  EXPECT_EQ(ranks.At(0), 0u);
  EXPECT_EQ(ranks.At(0.999999999), 999u);
  const RankSampler flat(1'000, 3.0, 0.0011);  // at most a tenth above the mean
  EXPECT_EQ(flat.At(0.00109), 0u);
  EXPECT_EQ(flat.At(0.00111), 1u);
}

// Returns the accuracy of a classifier that compares the sources of a paper's in-edges with the means of the classes
// and adds up the results. With `aware` it shifts the class of a source back by the number of the relation.
double NeighborAccuracy(const SourceGraph& graph, bool aware) {
  const std::vector<const char*> relations = {"cites", "dislikes", "extends", "writes", "rejects", "edits"};
  const uint16_t paper = graph.schema.FindNodeType("paper")->value;
  const auto labels = graph.nodes[paper].columns.at(kLabelColumn).values<int64_t>();
  const auto paper_features = graph.nodes[paper].columns.at(kFeatureColumn).values<float>();
  const size_t width = paper_features.size() / labels.size();
  std::vector<std::vector<double>> means(3, std::vector<double>(width));
  for (size_t i = 0; i < labels.size(); ++i) {
    for (size_t j = 0; j < width; ++j) means[static_cast<size_t>(labels[i])][j] += paper_features[i * width + j];
  }
  std::vector<std::vector<double>> scores(labels.size(), std::vector<double>(3));
  for (size_t r = 0; r < relations.size(); ++r) {
    const EdgeTypeId type = *graph.schema.FindEdgeType(relations[r]);
    const auto sources = graph.edges_of(type).sources.values<uint32_t>();
    const auto destinations = graph.edges_of(type).destinations.values<uint32_t>();
    const auto features = graph.nodes_of(graph.schema.SourceOf(type)).columns.at(kFeatureColumn).values<float>();
    for (size_t e = 0; e < sources.size(); ++e) {
      for (size_t c = 0; c < 3; ++c) {
        double dot = 0;
        for (size_t j = 0; j < width; ++j) dot += features[sources[e] * width + j] * means[c][j];
        scores[destinations[e]][aware ? (c + 3 - r % 3) % 3 : c] += dot;
      }
    }
  }
  double right = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    right += std::max_element(scores[i].begin(), scores[i].end()) - scores[i].begin() == labels[i] ? 1 : 0;
  }
  return right / static_cast<double>(labels.size());
}

TEST(TypedGraphTest, ClassesDependOnlyOnRelations) {
  const SourceGraph graph = *GenerateTypedGraph({.num_papers = 3'000, .num_authors = 1'500, .seed = 5}, 2);
  EXPECT_EQ(ValidateSourceGraph(graph, 1), Status());
  const double aware = NeighborAccuracy(graph, true), blind = NeighborAccuracy(graph, false);
  RecordProperty("aware", std::to_string(aware));
  EXPECT_GT(aware, 0.8) << "blind: " << blind;
  EXPECT_LT(blind, 0.5) << "aware: " << aware;
}

TEST(TypedGraphTest, IsTheSameForAnyNumberOfThreads) {
  const TypedOptions options{.num_papers = 40'000, .num_authors = 100, .num_classes = 2};
  ExpectSameGraph(*GenerateTypedGraph(options, 1), *GenerateTypedGraph(options, 3));
}

TEST(TypedGraphTest, SmallestGraphsAreValidAndSmallerOnesRefused) {
  const SourceGraph graph = *GenerateTypedGraph({.num_papers = 16, .num_authors = 16, .num_classes = 8}, 1);
  EXPECT_EQ(ValidateSourceGraph(graph, 1), Status());
  EXPECT_EQ(graph.schema.num_edge_types(), 16u);
  EXPECT_FALSE(GenerateTypedGraph({.num_papers = 5}, 1).ok());
  EXPECT_FALSE(GenerateTypedGraph({.num_classes = 9}, 1).ok());
  EXPECT_FALSE(GenerateTypedGraph({.fidelity = 2}, 1).ok());
}

}  // namespace
}  // namespace espalier::graph
