// All sampling methods of the public client: 1, 2 and 4 servers return the same samples as one process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "services/base/philox.h"
#include "services/client/graph/dist_graph.h"
#include "services/client/testing/served_graph.h"
#include "services/graph/generators.h"

namespace espalier::client {
namespace {

constexpr NodeTypeId kNodeType(0);
constexpr EdgeTypeId kEdgeType(0);
constexpr int kNumTimes = 20;

// SmallGraph with a timestamp for every edge and a mask for every node.
graph::SourceGraph TimedAndMasked() {
  graph::SourceGraph source = testing::SmallGraph();
  PhiloxStream random(3, 1);
  std::vector<int64_t> times(source.edges[0].num_edges());
  for (int64_t& time : times) time = random.NextBelow(kNumTimes);
  source.edges[0].columns["when"] = Tensor::FromVector(std::move(times));
  std::vector<uint8_t> mask(source.nodes[0].count);
  for (size_t v = 0; v < mask.size(); ++v) mask[v] = v % 3 != 0 ? 1 : 0;
  source.nodes[0].columns["may-be-drawn"] = Tensor::FromVector(std::move(mask));
  return source;
}

// One graph on several servers, with original ids.
class Served {
 public:
  Served(const graph::SourceGraph& source, uint32_t num_servers)
      : served_(source, num_servers,
                {.build = {.time_column = "when", .source_columns = {graph::kOriginalIdColumn, "may-be-drawn"}}}) {
    std::string servers;
    for (const std::string& address : served_.addresses()) servers += (servers.empty() ? "" : ",") + address;
    const auto context = Initialize({{"ESPALIER_SERVERS", servers}, {"ESPALIER_ACCESS", "rpc"}});
    ESPALIER_CHECK(context.ok()) << context.status().ToString();
    auto graph = DistGraph::Open(*context);
    ESPALIER_CHECK(graph.ok()) << graph.status().ToString();
    graph_ = *std::move(graph);
    std::vector<OriginalNodeId> ids;
    for (uint64_t id = 0; id < 90; ++id) ids.emplace_back(id * 7);
    seeds_ = *graph_->ToGlobalIds(kNodeType, ids);
  }

  const DistGraph& graph() const { return *graph_; }
  const std::vector<GlobalNodeId>& seeds() const { return seeds_; }

  // Returns original ids, and -1 for kNoNode.
  std::vector<int64_t> Portable(const std::vector<GlobalNodeId>& nodes) const {
    std::vector<GlobalNodeId> there;
    for (const GlobalNodeId node : nodes) {
      if (node != sampler::kNoNode) there.push_back(node);
    }
    const std::vector<uint64_t> ids = shard::testing::OriginalIds(graph_->partitions(), kNodeType, there);
    std::vector<int64_t> portable;
    size_t next = 0;
    for (const GlobalNodeId node : nodes) {
      portable.push_back(node == sampler::kNoNode ? -1 : static_cast<int64_t>(ids[next++]));
    }
    return portable;
  }

 private:
  testing::ServedGraph served_;
  std::unique_ptr<DistGraph> graph_;
  std::vector<GlobalNodeId> seeds_;
};

class DistDrawsTest : public ::testing::Test {
 protected:
  // `ask` returns a nonempty list of numbers that must not depend on the number of servers.
  void ExpectTheSameOverServers(const std::string& what,
                                const std::function<std::vector<int64_t>(const Served& served)>& ask) {
    const std::vector<int64_t> expected = ask(one_);
    EXPECT_FALSE(expected.empty()) << what;
    EXPECT_EQ(ask(two_), expected) << what << ", 2 servers";
    EXPECT_EQ(ask(four_), expected) << what << ", 4 servers";
  }

  const graph::SourceGraph source_ = TimedAndMasked();
  const Served one_{source_, 1}, two_{source_, 2}, four_{source_, 4};
};

TEST_F(DistDrawsTest, NeighborsByEveryMethodTimeAndMask) {
  using sampler::DrawMethod;
  std::vector<int64_t> times;
  for (int i = 0; i < 90; ++i) times.push_back(i % kNumTimes);
  for (const DrawMethod method : {DrawMethod::kNeighbor, DrawMethod::kLabor, DrawMethod::kLast}) {
    for (const bool timed : {false, true}) {
      for (const bool masked : {false, true}) {
        DrawOptions options{.seed = 5, .draw = {.method = method}};
        if (timed) options.draw.time_column = "when";
        if (timed) options.times = {{kNodeType, times}};
        if (masked) options.draw.weight_column = graph::SourceColumnName("may-be-drawn");
        const std::string what = "method " + std::to_string(static_cast<int>(method)) + (timed ? ", timed" : "") +
                                 (masked ? ", masked" : "");
        ExpectTheSameOverServers(what, [&](const Served& served) {
          const auto frontier =
              served.graph().SampleNeighbors({{kNodeType, served.seeds()}}, {{kEdgeType, 3}}, options);
          EXPECT_TRUE(frontier.ok()) << what << ": " << frontier.status().ToString();
          if (!frontier.ok()) return std::vector<int64_t>();
          std::vector<int64_t> drawn = served.Portable(frontier->relations[0].sources);
          if (masked) {
            for (const int64_t source : drawn) EXPECT_NE(source % 3, 0) << what;
          }
          for (const uint64_t offset : frontier->relations[0].offsets) drawn.push_back(static_cast<int64_t>(offset));
          return drawn;
        });
      }
    }
  }
}

// Excludes the first in-edge of each seed and samples all other in-edges, or a number of them.
TEST_F(DistDrawsTest, ExcludedEdgesAreNotSampled) {
  for (const int32_t fanout : {3, sampler::kFullNeighborhood}) {
    ExpectTheSameOverServers("fan-out " + std::to_string(fanout), [&](const Served& served) {
      const NodesByType seeds = {{kNodeType, served.seeds()}};
      const auto whole = served.graph().InSubgraph(seeds);
      EXPECT_TRUE(whole.ok()) << whole.status().ToString();
      const FrontierRelation& all = whole->relations[0];
      DrawOptions options{.seed = 5};
      std::vector<uint64_t> left;  // by seed: number of in-edges with other endpoints than the first
      for (size_t i = 0; i < all.destinations.size(); ++i) {
        const auto first = all.sources.begin() + static_cast<int64_t>(all.offsets[i]);
        const auto last = all.sources.begin() + static_cast<int64_t>(all.offsets[i + 1]);
        left.push_back(first == last ? 0 : static_cast<uint64_t>(last - first - std::count(first, last, *first)));
        if (first != last) options.excluded[kEdgeType].push_back({all.destinations[i], *first});
      }
      std::reverse(options.excluded[kEdgeType].begin(), options.excluded[kEdgeType].end());
      const auto frontier = served.graph().SampleNeighbors(seeds, {{kEdgeType, fanout}}, options);
      EXPECT_TRUE(frontier.ok()) << frontier.status().ToString();
      if (!frontier.ok()) return std::vector<int64_t>();
      const FrontierRelation& drawn = frontier->relations[0];
      for (size_t i = 0; i < left.size(); ++i) {
        const uint64_t expected = fanout < 0 ? left[i] : std::min<uint64_t>(left[i], static_cast<uint64_t>(fanout));
        EXPECT_EQ(drawn.offsets[i + 1] - drawn.offsets[i], expected) << "seed " << i;
        for (uint64_t e = drawn.offsets[i]; e < drawn.offsets[i + 1]; ++e) {
          EXPECT_NE(drawn.sources[e], all.sources[all.offsets[i]]) << "seed " << i;
        }
      }
      return served.Portable(drawn.sources);
    });
  }
}

TEST_F(DistDrawsTest, RefusesInvalidExclusions) {
  const auto refused = [&](const std::map<EdgeTypeId, std::vector<sampler::EdgeEnds>>& excluded) {
    const DrawOptions options{.excluded = excluded};
    return two_.graph().SampleNeighbors({{kNodeType, two_.seeds()}}, {{kEdgeType, 3}}, options).status();
  };
  EXPECT_EQ(refused({{EdgeTypeId(7), {}}}).code(), StatusCode::kInvalidArgument);
  const GlobalNodeId none(1u << 30);
  EXPECT_THAT(refused({{kEdgeType, {{two_.seeds()[0], none}}}}).message(), ::testing::HasSubstr("excluded edge 0"));
  EXPECT_THAT(refused({{kEdgeType, {{none, two_.seeds()[0]}}}}).message(), ::testing::HasSubstr("excluded edge 0"));
}

TEST_F(DistDrawsTest, RandomWalks) {
  for (const char* weights : {"", graph::kEdgeWeightColumn}) {
    ExpectTheSameOverServers(std::string("weights '") + weights + "'", [&](const Served& served) {
      const auto walks = served.graph().RandomWalk(served.seeds(), {.metapath = {kEdgeType, kEdgeType, kEdgeType},
                                                                    .walks_per_node = 3,
                                                                    .restart_probabilities = {0, 0.2, 0.2},
                                                                    .weight_column = weights,
                                                                    .seed = 4});
      EXPECT_TRUE(walks.ok()) << walks.status().ToString();
      return walks.ok() ? served.Portable(walks->nodes) : std::vector<int64_t>();
    });
  }
}

TEST_F(DistDrawsTest, PinSageNeighbors) {
  ExpectTheSameOverServers("PinSAGE", [](const Served& served) {
    const auto found = served.graph().PinSageNeighbors(served.seeds(), {.metapath = {kEdgeType},
                                                                        .num_traversals = 3,
                                                                        .termination_probability = 0.3,
                                                                        .num_random_walks = 10,
                                                                        .num_neighbors = 4,
                                                                        .seed = 4});
    EXPECT_TRUE(found.ok()) << found.status().ToString();
    if (!found.ok()) return std::vector<int64_t>();
    std::vector<int64_t> numbers = served.Portable(found->neighbors);
    for (const uint32_t visits : found->visits) numbers.push_back(visits);
    for (const uint64_t offset : found->offsets) numbers.push_back(static_cast<int64_t>(offset));
    return numbers;
  });
}

TEST_F(DistDrawsTest, ABlockHasNoRowsForRepeatedSeeds) {
  const std::vector<GlobalNodeId> twice = {one_.seeds()[0], one_.seeds()[0]};
  const DrawOptions options{.draw = {.time_column = "when"}, .times = {{kNodeType, {3, 9}}}};
  const auto frontier = one_.graph().SampleNeighbors({{kNodeType, twice}}, {{kEdgeType, 3}}, options);
  ASSERT_TRUE(frontier.ok()) << frontier.status().ToString();
  EXPECT_EQ(frontier->relations[0].offsets.size(), 3u);
  EXPECT_THAT(one_.graph().ToBlock(*frontier, {{kNodeType, twice}}).status().message(),
              ::testing::HasSubstr("distinct"));
}

}  // namespace
}  // namespace espalier::client
