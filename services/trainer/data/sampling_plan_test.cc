#include "services/trainer/data/sampling_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::trainer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Node types by id: author 0, paper 1, venue 2. Edge types: author:writes:paper 0, paper:cites:paper 1,
// venue:hosts:author 2.
graph::GraphSchema Schema() {
  return *graph::GraphSchema::Make(
      {"paper", "author", "venue"},
      {{"author", "writes", "paper"}, {"paper", "cites", "paper"}, {"venue", "hosts", "author"}});
}

TEST(SamplingPlanTest, ReadsFanoutsByLayerAndEdgeType) {
  job::Sampling sampling;
  sampling.layers = {{10, {{"cites", 0}}}, {std::nullopt, {{"author:writes:paper", 5}}}};
  sampling.draw.replace = true;
  const auto spec = MakeSamplingSpec(sampling, Schema(), 9);
  ASSERT_TRUE(spec.ok()) << spec.status().ToString();
  EXPECT_THAT(spec->layers[0].fanouts, ElementsAre(10, 0, 10));
  EXPECT_THAT(spec->layers[1].fanouts, ElementsAre(5, 0, 0));
  EXPECT_TRUE(spec->draw.replace);
  EXPECT_EQ(spec->seed, 9u);
  EXPECT_THAT(ListRelations(*spec), ElementsAre(ElementsAre(EdgeTypeId(0), EdgeTypeId(2)), ElementsAre(EdgeTypeId(0))));
  EXPECT_THAT(MakeFullNeighborhood(*spec, 0).layers[0].fanouts, ElementsAre(-1, 0, -1));
}

TEST(SamplingPlanTest, ReadsHowNeighborsAreDrawn) {
  job::Sampling sampling;
  sampling.layers = {{.fanout = 3}};
  sampling.draw.method = sampler::DrawMethod::kLabor;
  sampling.draw.layer_dependency = true;
  auto spec = MakeSamplingSpec(sampling, Schema(), 9);
  ASSERT_TRUE(spec.ok()) << spec.status().ToString();
  EXPECT_EQ(spec->draw.method, sampler::DrawMethod::kLabor);
  EXPECT_TRUE(spec->draw.layer_dependency);

  sampling.draw.method = sampler::DrawMethod::kLast;
  sampling.draw.time_column = "when";
  sampling.seed_time = "joined";
  spec = MakeSamplingSpec(sampling, Schema(), 9);
  ASSERT_TRUE(spec.ok()) << spec.status().ToString();
  EXPECT_EQ(spec->draw.method, sampler::DrawMethod::kLast);
  EXPECT_EQ(spec->draw.time_column, "when");
  EXPECT_EQ(spec->seed_time_column, "joined");
  // Full neighborhoods use neither the method nor the times.
  const sampler::SamplingSpec full = MakeFullNeighborhood(*spec, 0);
  EXPECT_EQ(full.draw.method, sampler::DrawMethod::kNeighbor);
  EXPECT_EQ(full.draw.time_column + full.seed_time_column, "");
}

TEST(SamplingPlanTest, FollowsTypesFromTheSeedsOutwards) {
  job::Sampling sampling;
  sampling.layers = {{1, {}}, {1, {{"cites", 0}}}};
  const auto spec = MakeSamplingSpec(sampling, Schema(), 0);
  const NodeTypeId author(0), paper(1), venue(2);
  EXPECT_THAT(ListTypes(*spec, Schema(), std::vector{paper}),
              ElementsAre(ElementsAre(author, paper, venue), ElementsAre(author, paper), ElementsAre(paper)));
  EXPECT_THAT(ListTypes(*spec, Schema(), std::vector{venue, paper}).back(), ElementsAre(paper, venue));
}

TEST(SamplingPlanTest, NoLayersDrawNothing) {
  const auto spec = MakeSamplingSpec(job::Sampling(), Schema(), 0);
  ASSERT_TRUE(spec.ok()) << spec.status().ToString();
  EXPECT_THAT(ListRelations(*spec), ElementsAre(ElementsAre()));
  const NodeTypeId paper(1);
  EXPECT_THAT(ListTypes(*spec, Schema(), std::vector{paper}), ElementsAre(ElementsAre(paper), ElementsAre(paper)));
}

TEST(SamplingPlanTest, NamesAnEdgeTypeThatDoesNotExist) {
  job::Sampling sampling;
  sampling.layers = {{1, {}}, {1, {{"likes", 2}}}};
  const Status status = MakeSamplingSpec(sampling, Schema(), 0).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("spec.training.sampling.layers[1]"));
}

}  // namespace
}  // namespace espalier::trainer
