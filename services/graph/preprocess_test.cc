#include "services/graph/preprocess.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "services/base/philox.h"
#include "services/graph/testing/small_graphs.h"

namespace espalier::graph {
namespace {

using testing::EdgeList;
using testing::EdgesOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

SourceGraph Preprocessed(SourceGraph graph, const PreprocessOptions& options, int threads = 2) {
  Result<SourceGraph> result = Preprocess(std::move(graph), options, threads);
  ESPALIER_CHECK(result.ok()) << result.status().ToString();
  const Status valid = ValidateSourceGraph(*result, 1);
  ESPALIER_CHECK(valid.ok()) << valid.ToString();
  return *std::move(result);
}

std::vector<uint64_t> OriginalIds(const EdgeSet& edges) {
  if (edges.original_ids.empty()) return {};
  const auto ids = edges.original_ids.values<uint64_t>();
  return {ids.begin(), ids.end()};
}

TEST(PreprocessTest, DefaultOptionsChangeNothing) {
  const SourceGraph graph = Preprocessed(testing::HomogeneousGraph(3, {{0, 0}, {0, 1}, {0, 1}}), {});
  EXPECT_THAT(EdgesOf(graph.edges[0]), ElementsAre(std::pair(0, 0), std::pair(0, 1), std::pair(0, 1)));
  EXPECT_TRUE(graph.edges[0].original_ids.empty());
}

TEST(PreprocessTest, SymmetrizesAHomogeneousGraph) {
  const SourceGraph graph =
      Preprocessed(testing::HomogeneousGraph(3, {{0, 1}, {2, 2}, {1, 2}}), {.add_reverse_edges = true});
  EXPECT_THAT(EdgesOf(graph.edges[0]),
              ElementsAre(std::pair(0, 1), std::pair(2, 2), std::pair(1, 2), std::pair(1, 0), std::pair(2, 1)));
  EXPECT_THAT(OriginalIds(graph.edges[0]), ElementsAre(0, 1, 2, 3, 5));  // the reverse of i has 3 + i
}

TEST(PreprocessTest, IdsStayEmptyIfEdgesKeepTheirNumbers) {
  const SourceGraph graph = Preprocessed(testing::HomogeneousGraph(3, {{0, 1}, {1, 2}}), {.add_reverse_edges = true});
  EXPECT_EQ(graph.edges[0].num_edges(), 4u);
  EXPECT_TRUE(graph.edges[0].original_ids.empty());
}

TEST(PreprocessTest, DropsSelfLoopsAndDuplicatesAndKeepsTheSmallestId) {
  SourceGraph graph = testing::HomogeneousGraph(3, {{1, 2}, {0, 0}, {0, 1}, {1, 2}, {2, 1}});
  graph.edges[0].columns["weight"] = Tensor::FromVector(std::vector<float>{0, 1, 2, 3, 4});
  graph = Preprocessed(std::move(graph),
                       {.add_reverse_edges = true, .drop_self_loops = true, .drop_duplicate_edges = true});
  // Edge 4 is (2, 1), so the reverse of edge 0, with id 5, is dropped. The reverse of edge 4, with id 9, equals edge 0
  // and is dropped too.
  EXPECT_THAT(EdgesOf(graph.edges[0]), ElementsAre(std::pair(1, 2), std::pair(0, 1), std::pair(2, 1), std::pair(1, 0)));
  EXPECT_THAT(OriginalIds(graph.edges[0]), ElementsAre(0, 2, 4, 7));
  EXPECT_THAT(graph.edges[0].columns["weight"].values<float>(), ElementsAre(0, 2, 4, 2));
}

TEST(PreprocessTest, MatchesSetOnRandomGraphForAnyNumberOfThreads) {
  PhiloxStream random(1, 2);
  EdgeList edges;
  for (int i = 0; i < 200'000; ++i) edges.emplace_back(random.NextBelow(500), random.NextBelow(500));
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> smallest;  // expected result, by another algorithm
  for (size_t i = 0; i < edges.size(); ++i) {
    if (edges[i].first != edges[i].second) smallest.try_emplace(edges[i], i);
  }
  for (size_t i = 0; i < edges.size(); ++i) {
    const auto [u, v] = edges[i];
    if (u != v) smallest.try_emplace({v, u}, edges.size() + i);
  }
  std::set<uint64_t> expected;
  for (const auto& [edge, id] : smallest) expected.insert(id);

  for (const int threads : {1, 3}) {
    const SourceGraph graph =
        Preprocessed(testing::HomogeneousGraph(500, edges),
                     {.add_reverse_edges = true, .drop_self_loops = true, .drop_duplicate_edges = true}, threads);
    const std::vector<uint64_t> ids = OriginalIds(graph.edges[0]);
    EXPECT_TRUE(std::equal(ids.begin(), ids.end(), expected.begin(), expected.end()));
    const EdgeList kept = EdgesOf(graph.edges[0]);
    for (size_t i = 0; i < kept.size(); ++i) ASSERT_EQ(smallest.at(kept[i]), ids[i]);
  }
}

TEST(PreprocessTest, AddsReverseRelationsToATypedGraph) {
  const SourceGraph graph = Preprocessed(testing::TypedExample(), {.add_reverse_edges = true});

  ASSERT_EQ(graph.schema.num_edge_types(), 6u);
  const EdgeTypeId reverse = *graph.schema.FindEdgeType("paper:rev_writes:author");
  EXPECT_THAT(EdgesOf(graph.edges_of(reverse)),
              ElementsAre(std::pair(0, 0), std::pair(1, 0), std::pair(1, 1), std::pair(2, 1)));
  EXPECT_THAT(OriginalIds(graph.edges_of(reverse)), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(graph.edges_of(reverse).columns.at("weight").values<float>(), ElementsAre(0.5f, 1.5f, 2.5f, 3.5f));
  const EdgeTypeId forward = *graph.schema.FindEdgeType("writes");
  EXPECT_THAT(OriginalIds(graph.edges_of(forward)), IsEmpty());
}

TEST(PreprocessTest, KeepsSelfLoopLikePairsBetweenTwoTypes) {
  const SourceGraph graph =
      Preprocessed(testing::TypedExample(), {.drop_self_loops = true, .drop_duplicate_edges = true});
  EXPECT_EQ(graph.edges_of(*graph.schema.FindEdgeType("writes")).num_edges(), 4u);  // a0 -> p0 is no loop
}

TEST(PreprocessTest, RefusesExistingRelationAndPreprocessedGraph) {
  SourceGraph graph = Preprocessed(testing::TypedExample(), {.add_reverse_edges = true});
  EXPECT_THAT(Preprocess(graph, {.add_reverse_edges = true}, 1).status().message(), HasSubstr("preprocessed before"));
  for (EdgeSet& edges : graph.edges) edges.original_ids = Tensor();
  graph.schema = *GraphSchema::Make({"a"}, {{"a", "r", "a"}, {"a", "rev_r", "a"}});
  graph.nodes = {NodeSet{.count = 3}};
  graph.edges.resize(2);
  graph.splits.clear();
  EXPECT_THAT(Preprocess(graph, {.add_reverse_edges = true}, 1).status().message(),
              HasSubstr("adding reverse relations: edge type 'a:rev_r:a' is declared twice"));
}

TEST(PreprocessTest, AcceptsPreprocessedGraphIfEdgesStay) {
  SourceGraph graph = Preprocessed(testing::HomogeneousGraph(3, {{0, 0}, {0, 1}, {2, 1}}), {.drop_self_loops = true});
  graph.nodes[0].columns["feature"] = Tensor::FromVector(std::vector<float>{1, 3, 0, 0, 2, 2}, {3, 2});
  graph = Preprocessed(std::move(graph), {.features = {.normalizes_rows = true}});
  EXPECT_THAT(OriginalIds(graph.edges[0]), ElementsAre(1, 2));
  EXPECT_THAT(graph.nodes[0].columns["feature"].values<float>(), ElementsAre(0.25, 0.75, 0, 0, 0.5, 0.5));
}

TEST(PreprocessTest, DividesRowsByTheirSumsAndLeavesLabelsAndZeroRows) {
  SourceGraph graph = testing::PathGraph(3);
  graph.nodes[0].columns["node-feat"] = Tensor::FromVector(std::vector<float>{1, 3, 0, 0, -1, 3}, {3, 2});
  graph.nodes[0].columns["node-label"] = Tensor::FromVector(std::vector<float>{1, 1, 1, 1, 0, 1}, {3, 2});
  graph.nodes[0].columns["target"] = Tensor::FromVector(std::vector<float>{5, 6, 7});
  graph = Preprocessed(std::move(graph), {.features = {.normalizes_rows = true}});

  EXPECT_THAT(graph.nodes[0].columns["node-feat"].values<float>(), ElementsAre(0.25f, 0.75f, 0, 0, -0.5f, 1.5f));
  EXPECT_THAT(graph.nodes[0].columns["node-label"].values<float>(), ElementsAre(1, 1, 1, 1, 0, 1));
  EXPECT_THAT(graph.nodes[0].columns["target"].values<float>(), ElementsAre(5, 6, 7));
}

TEST(PreprocessTest, NormalizesHalvesAndNamesARowThatOverflows) {
  SourceGraph graph = testing::PathGraph(2);
  const auto halves = [](std::vector<uint16_t> bits) {
    auto owner = std::make_shared<std::vector<uint16_t>>(std::move(bits));
    return Tensor::Wrap(DType::kF16, {2, 2}, owner->data(), owner);
  };
  graph.nodes[0].columns["node-feat"] = halves({FloatToHalf(1), FloatToHalf(3), 0, FloatToHalf(2)});
  const SourceGraph good = Preprocessed(graph, {.features = {.normalizes_rows = true}});
  EXPECT_EQ(good.nodes[0].columns.at("node-feat").ValueAsDouble(0), 0.25);
  EXPECT_EQ(good.nodes[0].columns.at("node-feat").ValueAsDouble(3), 1.0);
  // 1e30 / 1e-20 is beyond F32.
  SourceGraph wide = testing::PathGraph(2);
  wide.nodes[0].columns["node-feat"] = Tensor::FromVector(std::vector<float>{1, 1, 1, 1e30f, -1e30f, 1e-20f}, {2, 3});
  EXPECT_THAT(Preprocess(wide, {.features = {.normalizes_rows = true}}, 1).status().message(),
              HasSubstr("column 'node-feat': row 1 divided by its sum is not finite in F32"));
}

// Several processes check a range of the rows each.
constexpr FeatureConversion kNormalized = {.normalizes_rows = true};

TEST(FeatureConversionTest, ChecksRangesOfRowsLikeWholeColumn) {
  std::vector<float> values(3 * 5000, 1);
  values[3 * 4321] = 1e30f, values[3 * 4321 + 1] = -1e30f, values[3 * 4321 + 2] = 1e-20f;
  const Tensor column = Tensor::FromVector(std::move(values), {5000, 3});
  const std::string whole = ConvertFeatures(column, kNormalized, 2).status().ToString();
  EXPECT_THAT(whole, HasSubstr("row 4321 divided by its sum is not finite in F32"));
  EXPECT_EQ(CheckFeaturesConvert(column, kNormalized, 0, 5000, 2).ToString(), whole);
  EXPECT_EQ(CheckFeaturesConvert(column, kNormalized, 4321, 4322, 2).ToString(), whole);
  EXPECT_EQ(CheckFeaturesConvert(column, kNormalized, 3000, 5000, 1).ToString(), whole);
  EXPECT_EQ(CheckFeaturesConvert(column, kNormalized, 0, 4321, 2), Status());
  EXPECT_EQ(CheckFeaturesConvert(column, kNormalized, 4322, 5000, 2), Status());
  EXPECT_EQ(CheckFeaturesConvert(column, kNormalized, 5000, 5000, 2), Status());
  EXPECT_EQ(CheckFeaturesConvert(Tensor::FromVector(std::vector<float>{1, 2}), kNormalized, 0, 2, 1).code(),
            StatusCode::kInvalidArgument);
}

TEST(FeatureConversionTest, RoundsOnceToTheDTypeOfTheResult) {
  const Tensor column = Tensor::FromVector(std::vector<double>{1, 3, 1.0 / 3, -70000}, {2, 2});
  const auto converted = [&](FeatureConversion conversion) { return *ConvertFeatures(column, conversion, 2); };
  const Tensor narrow = converted({.dtype = DType::kBF16});
  EXPECT_EQ(narrow.dtype(), DType::kBF16);
  EXPECT_EQ(narrow.shape(), column.shape());
  EXPECT_EQ(narrow.ValueAsDouble(2), static_cast<double>(BFloat16ToFloat(FloatToBFloat16(1.0F / 3))));
  EXPECT_EQ(narrow.ValueAsDouble(3), -70144) << "the nearest of 8 bits";
  EXPECT_EQ(converted({.dtype = DType::kF32}).ValueAsDouble(2), static_cast<double>(1.0F / 3));
  EXPECT_EQ(converted({.normalizes_rows = true, .dtype = DType::kF16}).ValueAsDouble(1), 0.75);
  const Tensor same = converted({.dtype = DType::kF64});
  EXPECT_EQ(same.bytes(), column.bytes()) << "nothing is copied";
}

TEST(FeatureConversionTest, NamesAValueThatTheDTypeCannotHold) {
  const Tensor wide = Tensor::FromVector(std::vector<float>{1, 3, 1, -70000}, {2, 2});
  const Status refused = ConvertFeatures(wide, {.dtype = DType::kF16}, 2).status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(refused.message(), "row 1 is not finite in F16");
  EXPECT_EQ(CheckFeaturesConvert(wide, {.dtype = DType::kF16}, 1, 2, 2).message(), refused.message());
  EXPECT_EQ(CheckFeaturesConvert(wide, {.dtype = DType::kF16}, 0, 1, 2), Status());
  EXPECT_EQ(CheckFeaturesConvert(wide, {.dtype = DType::kBF16}, 0, 2, 2), Status());
  // Label columns may have missing values, even if the job does not use them.
  const Tensor labels = Tensor::FromVector(std::vector<float>{0, std::numeric_limits<float>::quiet_NaN()}, {1, 2});
  EXPECT_TRUE(ConvertFeatures(labels, {.dtype = DType::kF16}, 1).ok());
}

TEST(PreprocessTest, ConvertsFeaturesButNoLabels) {
  SourceGraph graph = testing::PathGraph(2);
  graph.nodes[0].columns["node-feat"] = Tensor::FromVector(std::vector<float>{1, 3, 0, 2}, {2, 2});
  graph.nodes[0].columns["node-label"] = Tensor::FromVector(std::vector<float>{1, 1, 1, 0}, {2, 2});
  graph.nodes[0].columns["age"] = Tensor::FromVector(std::vector<float>{5, 6});
  graph = Preprocessed(std::move(graph), {.features = {.dtype = DType::kF16}});
  EXPECT_EQ(graph.nodes[0].columns["node-feat"].dtype(), DType::kF16);
  EXPECT_EQ(graph.nodes[0].columns["node-feat"].ValueAsDouble(1), 3);
  EXPECT_EQ(graph.nodes[0].columns["node-label"].dtype(), DType::kF32);
  EXPECT_EQ(graph.nodes[0].columns["age"].dtype(), DType::kF32) << "one value: it may be a time or a weight";
}

// A split may be mapped and larger than the memory, so its arrays must not be copied.
TEST(PreprocessTest, UnchangedSplitIsNotCopied) {
  SourceGraph graph = testing::HomogeneousGraph(4, {{0, 1}, {1, 2}, {2, 3}});
  const IdList sources = IdList::Of(Tensor::FromVector(std::vector<uint64_t>{0, 1}));
  const IdList destinations = IdList::Of(Tensor::FromVector(std::vector<uint64_t>{1, 2}));
  graph.edge_splits["links"][0] = {.train = {sources, destinations}, .validation = {}, .test = {{2}, {3}}};
  const SourceGraph held = Preprocessed(graph, {.held_out = HeldOutEdges{"links", "", ""}});
  EXPECT_EQ(held.edge_splits.at("links").at(0).train.sources.begin(), sources.begin());
  EXPECT_EQ(held.edge_splits.at("links").at(0).train.destinations.begin(), destinations.begin());

  graph.edge_splits["links"][0].test = {{0}, {1}};
  const SourceGraph less = Preprocessed(graph, {.held_out = HeldOutEdges{"links", "", ""}});
  EXPECT_EQ(less.edge_splits.at("links").at(0).train, (EdgePairs{{1}, {2}}));
}

TEST(PreprocessTest, HoldsOutEdgesByEndpointsInBothDirections) {
  SourceGraph graph = testing::HomogeneousGraph(4, {{0, 1}, {1, 2}, {0, 1}, {2, 3}, {3, 0}, {3, 2}});
  graph.edge_splits["links"][0] = {.train = {{1}, {2}}, .validation = {{0}, {1}}, .test = {{2, 1}, {3, 3}}};

  // Without reverse edges: drops every edge 0 -> 1 and 2 -> 3. 1 -> 3 is not an edge.
  const SourceGraph one_way = Preprocessed(graph, {.held_out = HeldOutEdges{"links", "", ""}});
  EXPECT_THAT(EdgesOf(one_way.edges[0]), ElementsAre(std::pair(1, 2), std::pair(3, 0), std::pair(3, 2)));
  EXPECT_THAT(OriginalIds(one_way.edges[0]), ElementsAre(1, 4, 5));
  EXPECT_EQ(one_way.edge_splits.at("links").at(0).test.size(), 2u);  // the split is unchanged

  const SourceGraph declared = Preprocessed(graph, {.held_out = HeldOutEdges{"links", "edge", "edge"}});
  EXPECT_THAT(EdgesOf(declared.edges[0]), ElementsAre(std::pair(1, 2), std::pair(3, 0)));

  const SourceGraph made = Preprocessed(graph, {.add_reverse_edges = true, .held_out = HeldOutEdges{"links", "", ""}});
  EXPECT_THAT(EdgesOf(made.edges[0]), ElementsAre(std::pair(1, 2), std::pair(3, 0), std::pair(2, 1), std::pair(0, 3)));
}

TEST(PreprocessTest, HoldsOutReverseEdgesInTypedGraphs) {
  SourceGraph graph = testing::TypedExample();
  const EdgeTypeId writes = *graph.schema.FindEdgeType("writes");
  const auto ends = EdgesOf(graph.edges[writes.value]);
  ASSERT_GT(ends.size(), 1u);
  const auto [source, destination] = ends.front();
  graph.edge_splits["links"][writes.value].test = {{static_cast<uint64_t>(source)},
                                                   {static_cast<uint64_t>(destination)}};

  const SourceGraph held =
      Preprocessed(graph, {.add_reverse_edges = true, .held_out = HeldOutEdges{"links", "writes", "rev_writes"}});
  const auto left = EdgesOf(held.edges_of(*held.schema.FindEdgeType("writes")));
  const auto reverse = EdgesOf(held.edges_of(*held.schema.FindEdgeType("rev_writes")));
  EXPECT_EQ(left.size(), reverse.size());
  EXPECT_EQ(std::count(left.begin(), left.end(), std::pair(source, destination)), 0);
  EXPECT_EQ(std::count(reverse.begin(), reverse.end(), std::pair(destination, source)), 0);
}

TEST(PreprocessTest, HoldsOutTheEdgesOfTheNamedTypesAlone) {
  SourceGraph graph = testing::TypedExample();
  const EdgeTypeId writes = *graph.schema.FindEdgeType("writes"), cites = *graph.schema.FindEdgeType("cites");
  graph.edge_splits["links"][writes.value].test = {{0}, {1}};
  graph.edge_splits["links"][cites.value].test = {{2}, {0}};  // the edge type of venues has no split
  const auto left = [&](bool add_reverse_edges, std::vector<std::string> names) {
    HeldOutEdges held_out{"links", "", "", std::move(names)};
    const SourceGraph held =
        Preprocessed(graph, {.add_reverse_edges = add_reverse_edges, .held_out = std::move(held_out)});
    const auto count = [&](const char* type) { return held.edges_of(*held.schema.FindEdgeType(type)).num_edges(); };
    return std::vector<uint64_t>{count("writes"), count("cites")};
  };
  EXPECT_THAT(left(false, {"writes", "paper:cites:paper"}), ElementsAre(3, 2));
  EXPECT_THAT(left(false, {"cites"}), ElementsAre(4, 2));
  // The name of a relation that will be created means the relation from which it is created.
  EXPECT_THAT(left(true, {"rev_writes", "writes"}), ElementsAre(3, 3));
  EXPECT_THAT(left(true, {"paper:rev_writes:author"}), ElementsAre(3, 3));
  const HeldOutEdges unmade{"links", "", "", {"writes", "rev_writes"}};
  EXPECT_THAT(Preprocess(graph, {.held_out = unmade}, 1).status().message(), HasSubstr("rev_writes"));
  const HeldOutEdges all{"links", "", ""};
  EXPECT_THAT(Preprocess(graph, {.held_out = all}, 1).status().message(),
              HasSubstr("no split 'links' of edge type 'venue:prints:paper'; the graph's splits of edges are 'links' "
                        "of 'author:writes:paper', 'links' of 'paper:cites:paper'"));
}

TEST(PreprocessTest, HeldOutPairsLeaveTraining) {
  SourceGraph graph = testing::HomogeneousGraph(4, {{0, 1}, {1, 0}, {2, 3}});
  graph.edge_splits["links"][0] = {.train = {{1, 2, 0}, {0, 3, 1}}, .validation = {}, .test = {{0}, {1}}};
  const auto train = [&](bool add_reverse_edges, const std::string& reverse) {
    const SourceGraph held =
        Preprocessed(graph, {.add_reverse_edges = add_reverse_edges, .held_out = HeldOutEdges{"links", "", reverse}});
    return held.edge_splits.at("links").at(0).train;
  };
  EXPECT_EQ(train(false, ""), (EdgePairs{{1, 2}, {0, 3}}));  // 0 -> 1 itself
  EXPECT_EQ(train(false, "edge"), (EdgePairs{{2}, {3}}));    // 1 -> 0 is its reverse
  EXPECT_EQ(train(true, ""), (EdgePairs{{2}, {3}}));
  graph.edge_splits["links"][0].train.edge_ids = {1, 2, 0};
  EXPECT_EQ(train(false, "edge"), (EdgePairs{{2}, {3}, {2}}));
}

TEST(PreprocessTest, CountsDroppedAndAddedEdgesOfEachStep) {
  const auto changes = [](SourceGraph graph, const PreprocessOptions& options) {
    EdgeChanges counted;
    EXPECT_TRUE(Preprocess(std::move(graph), options, 2, &counted).ok());
    return counted;
  };
  SourceGraph graph = testing::HomogeneousGraph(4, {{0, 0}, {0, 1}, {0, 1}, {1, 0}, {2, 3}});
  EXPECT_EQ(changes(graph, {}), EdgeChanges());
  const PreprocessOptions all{.add_reverse_edges = true, .drop_self_loops = true, .drop_duplicate_edges = true};
  // 0->1 occurs twice and is added once as a reverse; 1->0 occurs once and is added twice.
  EXPECT_EQ(changes(graph, all), (EdgeChanges{.self_loops_dropped = 1, .reverses_added = 4, .duplicates_dropped = 4}));
  graph.edge_splits["links"][0] = {.train = {{1, 2}, {0, 3}}, .validation = {}, .test = {{0}, {1}}};
  EXPECT_EQ(changes(graph, {.add_reverse_edges = true, .held_out = HeldOutEdges{"links", "", ""}}),
            (EdgeChanges{.reverses_added = 4, .held_out_dropped = 6, .training_pairs_dropped = 1}));
  EXPECT_EQ(changes(testing::TypedExample(), {.add_reverse_edges = true}), (EdgeChanges{.reverses_added = 7}));
}

TEST(PreprocessTest, SplitsOfReverseRelationsNameTheReversesOfTheirEdges) {
  SourceGraph graph = testing::TypedExample();
  const EdgeTypeId writes = *graph.schema.FindEdgeType("writes");
  const auto ends = EdgesOf(graph.edges_of(writes));
  ASSERT_GT(ends.size(), 1u);
  graph.edge_splits["named"][writes.value].train = {{ends[1].first}, {ends[1].second}, {1}};
  const SourceGraph both = Preprocessed(graph, {.add_reverse_edges = true});
  const auto train = [&](const char* relation) {
    return both.edge_splits.at("named").at(both.schema.FindEdgeType(relation)->value).train;
  };
  EXPECT_EQ(train("writes").edge_ids, std::vector<uint64_t>{1});
  EXPECT_EQ(train("rev_writes").edge_ids, std::vector<uint64_t>{ends.size() + 1});
}

TEST(PreprocessTest, RefusesNamedReverseBesidesAddedOne) {
  SourceGraph graph = testing::TypedExample();
  const CanonicalEdgeType writes = graph.schema.EdgeType(*graph.schema.FindEdgeType("writes"));
  std::vector<CanonicalEdgeType> types = graph.schema.edge_types();
  ASSERT_EQ(graph.schema.FindEdgeType("rev_writes").ok(), false);
  for (uint16_t type = 0; type < types.size(); ++type) graph.edge_splits["links"][type] = {};
  const auto refusal = [&](const std::string& reverse) {
    return Preprocess(graph, {.add_reverse_edges = true, .held_out = HeldOutEdges{"links", "writes", reverse}}, 1)
        .status();
  };
  EXPECT_EQ(refusal(""), Status());
  EXPECT_EQ(refusal("rev_writes"), Status());
  EXPECT_EQ(refusal(CanonicalEdgeType{writes.destination, "rev_writes", writes.source}.Name()), Status());
  EXPECT_THAT(refusal("rev_wrotes").message(), HasSubstr("rev_wrotes"));  // a misspelled name
  for (const CanonicalEdgeType& other : types) {
    if (other.relation == "writes") continue;
    EXPECT_THAT(refusal(other.Name()).message(),
                HasSubstr("which adding reverse edges creates: name no reverse edge type, or add no reverse edges"));
  }
  // One node type and one edge type: both directions are held out, regardless of the names.
  SourceGraph plain = testing::HomogeneousGraph(3, {{0, 1}, {1, 2}});
  plain.edge_splits["links"][0].test = {{0}, {1}};
  EXPECT_FALSE(
      Preprocess(plain, {.add_reverse_edges = true, .held_out = HeldOutEdges{"links", "", "rev_edge"}}, 1).ok());
}

TEST(PreprocessTest, ReverseRelationsHaveTheSplitsOfTheirForwardOnes) {
  SourceGraph graph = testing::TypedExample();
  for (uint16_t type = 0; type < graph.schema.num_edge_types(); ++type) {
    const auto ends = EdgesOf(graph.edges[type]);
    EdgeSplit& split = graph.edge_splits["links"][type];
    if (ends.empty()) continue;
    split.train = {{0}, {2}};
    split.test = {{ends[0].first}, {ends[0].second}};
  }
  const GraphSchema forward = graph.schema;
  // Without a name, edges of every edge type are held out.
  const SourceGraph both = Preprocessed(graph, {.add_reverse_edges = true, .held_out = HeldOutEdges{"links", "", ""}});
  ASSERT_EQ(both.edge_splits.at("links").size(), 2 * forward.num_edge_types());
  for (uint16_t type = 0; type < forward.num_edge_types(); ++type) {
    const CanonicalEdgeType& name = forward.EdgeType(EdgeTypeId(type));
    const EdgeTypeId there = *both.schema.FindEdgeType(name.Name());
    const EdgeTypeId back =
        *both.schema.FindEdgeType(CanonicalEdgeType{name.destination, "rev_" + name.relation, name.source}.Name());
    const EdgeSplit& of_there = both.edge_splits.at("links").at(there.value);
    const EdgeSplit& of_back = both.edge_splits.at("links").at(back.value);
    if (forward.NodeTypeName(forward.SourceOf(EdgeTypeId(type))) == "venue") {
      EXPECT_EQ(of_there.test.size() + of_back.test.size(), 0u);
      continue;
    }
    EXPECT_EQ(of_there.train, (EdgePairs{{0}, {2}}));
    EXPECT_EQ(of_back.train, (EdgePairs{{2}, {0}}));
    ASSERT_EQ(of_there.test.size(), 1u);
    EXPECT_EQ(of_back.test, (EdgePairs{of_there.test.destinations, of_there.test.sources}));
    const std::pair<uint32_t, uint32_t> held(static_cast<uint32_t>(of_there.test.sources[0]),
                                             static_cast<uint32_t>(of_there.test.destinations[0]));
    const auto left = EdgesOf(both.edges_of(there));
    const auto left_back = EdgesOf(both.edges_of(back));
    EXPECT_EQ(std::count(left.begin(), left.end(), held), 0) << name.Name();
    EXPECT_EQ(std::count(left_back.begin(), left_back.end(), std::pair(held.second, held.first)), 0) << name.Name();
  }
}

TEST(PreprocessTest, HoldingOutNamesUnknownSplits) {
  const SourceGraph graph = testing::HomogeneousGraph(3, {{0, 1}});
  const auto refusal = [&](HeldOutEdges held_out) {
    return Preprocess(graph, {.held_out = std::move(held_out)}, 1).status();
  };
  EXPECT_EQ(refusal({"links", "", ""}).code(), StatusCode::kNotFound);
  EXPECT_THAT(refusal({"links", "", ""}).message(), HasSubstr("no split 'links' of edge type 'node:edge:node'"));
  EXPECT_THAT(refusal({"links", "", ""}).message(), HasSubstr("splits of edges are none"));
  EXPECT_THAT(refusal({"links", "cites", ""}).message(), HasSubstr("cites"));
  SourceGraph typed = testing::TypedExample();
  EXPECT_THAT(Preprocess(typed, {.held_out = HeldOutEdges{"links", "", "writes"}}, 1).status().message(),
              HasSubstr("'writes' is the reverse of one edge type, but edges of"));
  typed.edge_splits["links"][1].test = {{1}, {0}};
  EXPECT_THAT(Preprocess(typed, {.held_out = HeldOutEdges{"links", "cites", "writes"}}, 1).status().message(),
              HasSubstr("'author:writes:paper' does not reverse the node types of 'paper:cites:paper'"));
  const SourceGraph no_edges{.name = "", .schema = *GraphSchema::Make({"a"}, {}), .nodes = {NodeSet{.count = 1}}};
  for (const bool add_reverse_edges : {false, true}) {
    EXPECT_EQ(
        Preprocess(no_edges, {.add_reverse_edges = add_reverse_edges, .held_out = HeldOutEdges{"links", "", ""}}, 1)
            .status()
            .code(),
        StatusCode::kNotFound);
  }
}

}  // namespace
}  // namespace espalier::graph
