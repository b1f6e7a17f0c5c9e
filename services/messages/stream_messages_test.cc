// The first message of a stream: decoding returns the encoded plan and refuses invalid plans.
#include "services/messages/stream_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::messages {
namespace {

TEST(StreamMessagesTest, PlanRoundTrips) {
  sampler::EpochPlan plan{.seed_type = NodeTypeId(2),
                          .split = "public",
                          .batch_size = 8,
                          .shuffle = false,
                          .num_trainers = 4,
                          .rank = Rank(3)};
  sampler::SamplingSpec spec{.layers = {{{3, 0, -1}}, {{5, 6, 7}}},
                             .draw = {.method = sampler::DrawMethod::kLast, .time_column = "when"},
                             .seed_time_column = "joined",
                             .seed = uint64_t{1} << 63};
  minibatch::v1::StreamStart start = EncodeStart(plan, spec);
  start.mutable_identity()->set_job("nightly");
  start.mutable_identity()->set_incarnation(7);
  start.set_epoch(5);
  start.set_first_step(6);
  start.set_stride(2);
  start.set_want_edge_ids(true);
  const Result<StreamPlan> got = DecodeStart(start, {.max_draws_per_batch = 1000});
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_EQ(got->plan.seed_type, plan.seed_type);
  EXPECT_EQ(got->plan.split, plan.split);
  EXPECT_EQ(got->plan.batch_size, plan.batch_size);
  EXPECT_EQ(got->plan.shuffle, plan.shuffle);
  EXPECT_EQ(got->plan.num_trainers, plan.num_trainers);
  EXPECT_EQ(got->plan.rank, plan.rank);
  EXPECT_TRUE(std::holds_alternative<sampler::NodePlan>(got->plan.seeds));
  ASSERT_EQ(got->spec.layers.size(), 2u);
  EXPECT_EQ(got->spec.layers[0].fanouts, spec.layers[0].fanouts);
  EXPECT_EQ(got->spec.layers[1].fanouts, spec.layers[1].fanouts);
  EXPECT_EQ(got->spec.draw, spec.draw);
  EXPECT_EQ(got->spec.seed_time_column, spec.seed_time_column);
  EXPECT_EQ(got->spec.seed, spec.seed);
  EXPECT_EQ(got->spec.max_edges, 1000u);
  EXPECT_EQ(got->job, "nightly");
  EXPECT_EQ(got->incarnation, 7u);
  EXPECT_EQ(got->epoch, 5u);
  EXPECT_EQ(got->first_step, 6u);
  EXPECT_EQ(got->stride, 2u);
  EXPECT_TRUE(got->want_edge_ids);
}

TEST(StreamMessagesTest, LinkPlansRoundTrip) {
  for (const auto& [kind, name] : sampler::Spelling<sampler::NegativeKind>::kNames) {
    const sampler::LinkPlan links{.types = {{EdgeTypeId(3), EdgeTypeId(0)}, {EdgeTypeId(1)}},
                                  .negatives = {kind, 2},
                                  .exclude_batch = false,
                                  .edge_columns = {"amount"},
                                  .want_pair_ids = true};
    sampler::EpochPlan plan{.batch_size = 8};
    plan.seeds = links;
    minibatch::v1::StreamStart start = EncodeStart(plan, {});
    start.set_stride(1);
    const Result<StreamPlan> got = DecodeStart(start, {});
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    ASSERT_NE(got->plan.links(), nullptr);
    ASSERT_EQ(got->plan.links()->types.size(), 2u);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(got->plan.links()->types[i].edge_type, links.types[i].edge_type);
      EXPECT_EQ(got->plan.links()->types[i].reverse_type, links.types[i].reverse_type);
    }
    EXPECT_EQ(got->plan.links()->negatives.kind, kind) << name;
    EXPECT_EQ(got->plan.links()->negatives.count, 2u);
    EXPECT_FALSE(got->plan.links()->exclude_batch);
    EXPECT_EQ(got->plan.links()->edge_columns, links.edge_columns);
    EXPECT_TRUE(got->plan.links()->want_pair_ids);
  }
}

const ServiceLimits kPlanLimits{.max_fanout = 10, .max_rows = 100, .max_layers = 2};

// Rank 1 of 2, whose share of a step is 4 of 8.
minibatch::v1::StreamStart GoodStart() {
  minibatch::v1::StreamStart start;
  start.set_batch_size(8);
  start.set_num_trainers(2);
  start.set_rank(1);
  start.set_stride(3);
  return start;
}

// With 25 joint negatives for each edge: 100 for this trainer's four edges.
minibatch::v1::StreamStart StartOfLinks() {
  minibatch::v1::StreamStart start = GoodStart();
  minibatch::v1::LinkPlan* links = start.mutable_links();
  links->add_types()->set_edge_type(3);
  links->mutable_types(0)->set_reverse_type(0);
  links->set_negatives(minibatch::v1::NEGATIVES_JOINT);
  links->set_negatives_per_edge(25);
  return start;
}

minibatch::v1::StreamStart StartOfLabeledEdges() {
  minibatch::v1::StreamStart start = GoodStart();
  start.mutable_edges()->set_edge_type(3);
  start.mutable_edges()->set_label("rating");
  return start;
}

// Returns the code with which a start is decoded after `change` has modified it.
template <class Change>
StatusCode PlanCodeOf(minibatch::v1::StreamStart start, Change change) {
  change(start);
  return DecodeStart(start, kPlanLimits).status().code();
}

TEST(DecodeStartTest, RefusesInvalidPlans) {
  const auto code_of = [](auto change) { return PlanCodeOf(GoodStart(), change); };
  EXPECT_EQ(code_of([](auto&) {}), StatusCode::kOk);
  EXPECT_EQ(code_of([](auto& start) { start.set_batch_size(0); }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of([](auto& start) { start.set_batch_size(101); }), StatusCode::kResourceExhausted);
  EXPECT_EQ(code_of([](auto& start) { start.set_num_trainers(0); }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of([](auto& start) { start.set_rank(2); }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of([](auto& start) { start.set_stride(0); }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of([](auto& start) { start.set_seed_type(1 << 20); }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of([](auto& start) {
              for (int i = 0; i < 3; ++i) start.mutable_sampling()->add_layers();
            }),
            StatusCode::kResourceExhausted);
  EXPECT_EQ(code_of([](auto& start) { start.mutable_sampling()->add_layers()->add_fanouts(11); }),
            StatusCode::kResourceExhausted);
}

TEST(DecodeStartTest, ReadsPlansOfLinks) {
  const Result<StreamPlan> stream = DecodeStart(StartOfLinks(), kPlanLimits);
  ASSERT_TRUE(stream.ok()) << stream.status().ToString();
  ASSERT_TRUE(stream->plan.links() != nullptr);
  EXPECT_EQ(stream->plan.links()->types.at(0).edge_type, EdgeTypeId(3));
  EXPECT_EQ(stream->plan.links()->types.at(0).reverse_type, EdgeTypeId(0));
  EXPECT_EQ(stream->plan.links()->negatives.count, 25u);
  EXPECT_TRUE(stream->plan.links()->exclude_batch && stream->plan.links()->edge_columns.empty());
  EXPECT_FALSE(stream->plan.links()->want_pair_ids || stream->want_edge_ids);
  minibatch::v1::StreamStart with_rows = StartOfLinks();
  with_rows.set_want_edge_ids(true);
  with_rows.mutable_links()->set_draw_batch(true);
  with_rows.mutable_links()->set_want_pair_ids(true);
  with_rows.mutable_links()->add_edge_columns("amount");
  const Result<StreamPlan> requested = DecodeStart(with_rows, kPlanLimits);
  ASSERT_TRUE(requested.ok()) << requested.status().ToString();
  EXPECT_TRUE(requested->want_edge_ids && requested->plan.links()->want_pair_ids &&
              !requested->plan.links()->exclude_batch);
  EXPECT_THAT(requested->plan.links()->edge_columns, ::testing::ElementsAre("amount"));
}

TEST(DecodeStartTest, RefusesInvalidLinks) {
  const auto code_of = [](auto change) {
    return PlanCodeOf(StartOfLinks(), [&](minibatch::v1::StreamStart& start) { change(*start.mutable_links()); });
  };
  EXPECT_EQ(code_of([](auto& links) { links.set_negatives_per_edge(26); }), StatusCode::kResourceExhausted);
  EXPECT_EQ(code_of([](auto& links) { links.set_negatives(minibatch::v1::NEGATIVES_IN_DEGREE); }),
            StatusCode::kResourceExhausted);
  EXPECT_EQ(code_of([](auto& links) { links.clear_negatives(); }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of([](auto& links) { links.set_negatives_per_edge(0); }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of([](auto& links) {
              links.set_negatives_per_edge(0);
              links.set_negatives(minibatch::v1::NEGATIVES_UNIFORM);
            }),
            StatusCode::kOk);
  EXPECT_EQ(code_of([](auto& links) {
              for (int i = 0; i < 65; ++i) links.add_edge_columns("amount" + std::to_string(i));
            }),
            StatusCode::kResourceExhausted);
  EXPECT_EQ(code_of([](auto& links) { links.add_types()->set_edge_type(1 << 20); }), StatusCode::kInvalidArgument);
}

TEST(DecodeStartTest, ReadsPlansOfLabeledEdges) {
  const Result<StreamPlan> labeled = DecodeStart(StartOfLabeledEdges(), kPlanLimits);
  ASSERT_TRUE(labeled.ok() && labeled->plan.edges() != nullptr) << labeled.status().ToString();
  EXPECT_EQ(labeled->plan.edges()->edge_type, EdgeTypeId(3));
  EXPECT_EQ(labeled->plan.edges()->label, "rating");
  EXPECT_EQ(PlanCodeOf(StartOfLabeledEdges(), [](auto& start) { start.mutable_edges()->set_exclude_reverse(1 << 20); }),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(PlanCodeOf(StartOfLinks(), [](auto& start) { start.mutable_edges()->set_label("rating"); }),
            StatusCode::kInvalidArgument)
      << "links and labeled edges at once";
}

}  // namespace
}  // namespace espalier::messages
