// The parts of the server that need no network: gate, requests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "services/server/graph_requests.h"
#include "services/server/metrics.h"
#include "services/server/mini_batch_messages.h"
#include "services/server/request_gate.h"
#include "services/server/request_tensors.h"
#include "services/server/tensor_messages.h"

namespace espalier::server {
namespace {

using ::testing::HasSubstr;

tensor::v1::RequestIdentity Identity(const std::string& key, uint32_t partition, uint64_t incarnation) {
  tensor::v1::RequestIdentity identity;
  identity.set_partition_key(key);
  identity.set_partition(partition);
  identity.set_incarnation(incarnation);
  return identity;
}

TEST(RequestGateTest, AdmitsItsOwnAndRaisesTheIncarnation) {
  RequestGate gate("k", PartitionId(2), "", 5);
  EXPECT_TRUE(gate.Admit(Identity("k", 2, 5)).ok());
  EXPECT_EQ(gate.Admit(Identity("k", 2, 4)).code(), StatusCode::kAborted);
  EXPECT_TRUE(gate.Admit(Identity("k", 2, 9)).ok());
  EXPECT_EQ(gate.newest_incarnation(), 9u);
  EXPECT_EQ(gate.Admit(Identity("k", 2, 5)).code(), StatusCode::kAborted);
}

TEST(RequestGateTest, JobsHaveIncarnationsOfTheirOwn) {
  RequestGate gate("k", PartitionId(2), "", 5);
  const auto code_of = [&](const std::string& job, uint64_t incarnation) {
    tensor::v1::RequestIdentity identity = Identity("k", 2, incarnation);
    identity.set_job(job);
    return gate.Admit(identity).code();
  };
  EXPECT_EQ(code_of("nightly", 0), StatusCode::kOk);
  EXPECT_EQ(code_of("nightly", 2), StatusCode::kOk);
  EXPECT_EQ(code_of("nightly", 1), StatusCode::kAborted);
  EXPECT_EQ(code_of("weekly", 1), StatusCode::kOk);
  EXPECT_EQ(gate.NewestIncarnationOf("nightly"), 2u);
  EXPECT_EQ(gate.NewestIncarnationOf("unseen"), 0u);
  EXPECT_EQ(gate.NewestIncarnationOf(""), 5u);
  EXPECT_EQ(code_of("", 4), StatusCode::kAborted);
  EXPECT_EQ(code_of("a/b", 9), StatusCode::kInvalidArgument);
  EXPECT_EQ(gate.newest_incarnation(), 5u);
  // However many jobs there are, the gate remembers a bounded number, and the one that asks among them.
  for (size_t i = 0; i < 2 * RequestGate::kOtherJobs; ++i) {
    EXPECT_EQ(code_of("job-" + std::to_string(i), 0), StatusCode::kOk);
    EXPECT_EQ(code_of("nightly", 2), StatusCode::kOk);
  }
  EXPECT_EQ(code_of("nightly", 1), StatusCode::kAborted);
}

TEST(RequestGateTest, TheJobThatItIsStartedForHasAName) {
  RequestGate gate("k", PartitionId(2), "nightly", 5);
  tensor::v1::RequestIdentity identity = Identity("k", 2, 4);
  EXPECT_EQ(gate.Admit(identity), Status()) << "of the job without a name, which is another";
  identity.set_job("nightly");
  const Status refused = gate.Admit(identity);
  EXPECT_EQ(refused.code(), StatusCode::kAborted);
  EXPECT_THAT(refused.message(), HasSubstr("incarnation 4 of job 'nightly', which is now in incarnation 5"));
  EXPECT_EQ(gate.NewestIncarnationOf("nightly"), 5u);
  EXPECT_EQ(gate.NewestIncarnationOf(""), 4u);
  EXPECT_EQ(gate.newest_incarnation(), 5u);
}

TEST(RequestGateTest, StrangersDoNotRaiseTheIncarnation) {
  RequestGate gate("k", PartitionId(2), "", 5);
  EXPECT_EQ(gate.Admit(Identity("other", 2, 9)).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(gate.Admit(Identity("k", 1, 9)).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(gate.newest_incarnation(), 5u);
}

tensor::v1::CreateRequest ValidCreate() {
  tensor::v1::CreateRequest request;
  request.mutable_identity()->set_job("nightly");
  request.mutable_identity()->set_incarnation(3);
  request.mutable_tensor()->set_rows_of(tensor::v1::ROWS_OF_EDGES);
  request.mutable_tensor()->set_type(2);
  request.mutable_tensor()->set_name("scores");
  request.set_dtype(static_cast<uint32_t>(DType::kBF16));
  request.add_row_shape(7);
  request.set_creation(99);
  request.set_maker(7);
  request.mutable_initializer()->mutable_normal()->set_stddev(0.5);
  request.mutable_initializer()->set_seed(11);
  request.mutable_initializer()->set_stream("rows");
  return request;
}

TEST(TensorSpecOfTest, ReadsEveryField) {
  const auto spec = TensorSpecOf(ValidCreate());
  ASSERT_TRUE(spec.ok()) << spec.status().ToString();
  EXPECT_EQ(spec->id.rows, sampler::RowSpace::Edges(EdgeTypeId(2)));
  EXPECT_EQ(spec->id.name, "scores");
  EXPECT_EQ(spec->id.job, "nightly");
  EXPECT_EQ(spec->id.incarnation, 3u);
  EXPECT_EQ(spec->maker, 7u);
  EXPECT_EQ(spec->dtype, DType::kBF16);
  EXPECT_THAT(spec->row_shape, ::testing::ElementsAre(7));
  EXPECT_EQ(spec->initializer.kind, sampler::Initializer::Kind::kNormal);
  EXPECT_EQ(spec->initializer.stddev, 0.5);
  EXPECT_EQ(spec->initializer.seed, 11u);
  EXPECT_EQ(spec->initializer.stream, "rows");
}

TEST(TensorSpecOfTest, ReadsAnInitialiserOfAPlugin) {
  tensor::v1::CreateRequest request = ValidCreate();
  request.mutable_initializer()->mutable_plugin()->set_name("rows/ids");
  request.mutable_initializer()->mutable_plugin()->set_arguments(std::string("a\0b", 3));
  const auto spec = TensorSpecOf(request);
  ASSERT_TRUE(spec.ok()) << spec.status().ToString();
  EXPECT_EQ(spec->initializer.kind, sampler::Initializer::Kind::kPlugin);
  EXPECT_EQ(spec->initializer.plugin, "rows/ids");
  EXPECT_EQ(spec->initializer.arguments, std::string("a\0b", 3));
  EXPECT_EQ(spec->initializer.seed, 11u);
  EXPECT_EQ(spec->initializer.stream, "rows");
  for (const char* wrong : {"", "rows", "/ids", "rows/", "rows/a/b", "rows/../ids"}) {
    request.mutable_initializer()->mutable_plugin()->set_name(wrong);
    EXPECT_EQ(TensorSpecOf(request).status().code(), StatusCode::kInvalidArgument) << wrong;
  }
  request.mutable_initializer()->mutable_plugin()->set_name("rows/ids");
  request.mutable_initializer()->mutable_plugin()->set_arguments(std::string((1 << 20) + 1, 'x'));
  EXPECT_EQ(TensorSpecOf(request).status().code(), StatusCode::kResourceExhausted);
}

TEST(TensorSpecOfTest, ZerosHaveNoKindAndKindsOfTheFutureAreNoZeros) {
  tensor::v1::CreateRequest request = ValidCreate();
  request.mutable_initializer()->clear_kind();
  const auto spec = TensorSpecOf(request);
  ASSERT_TRUE(spec.ok()) << spec.status().ToString();
  EXPECT_EQ(spec->initializer.kind, sampler::Initializer::Kind::kZeros);

  constexpr int kKindOfTheFuture = 1000;
  tensor::v1::Initializer newer;
  newer.GetReflection()->MutableUnknownFields(&newer)->AddLengthDelimited(kKindOfTheFuture, "");
  ASSERT_TRUE(request.mutable_initializer()->ParseFromString(newer.SerializeAsString()));
  const Status refused = TensorSpecOf(request).status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(), ::testing::HasSubstr("kind of the initialiser"));
}

TEST(TensorSpecOfTest, RefusesWhatNoTensorIs) {
  using Request = tensor::v1::CreateRequest;
  const std::pair<StatusCode, std::function<void(Request&)>> wrong[] = {
      {StatusCode::kInvalidArgument, [](Request& r) { r.mutable_tensor()->set_rows_of(tensor::v1::RowsOf(9)); }},
      {StatusCode::kInvalidArgument, [](Request& r) { r.mutable_tensor()->set_type(70'000); }},
      {StatusCode::kInvalidArgument, [](Request& r) { r.mutable_tensor()->set_num_own_rows(5); }},
      {StatusCode::kInvalidArgument, [](Request& r) { r.mutable_tensor()->set_name("../a"); }},
      {StatusCode::kInvalidArgument, [](Request& r) { r.mutable_tensor()->set_name("scores.state"); }},
      {StatusCode::kInvalidArgument, [](Request& r) { r.mutable_tensor()->set_name(std::string(1000, 'a')); }},
      {StatusCode::kInvalidArgument, [](Request& r) { r.set_dtype(0); }},
      {StatusCode::kInvalidArgument, [](Request& r) { r.set_dtype(256 + 9); }},
      {StatusCode::kInvalidArgument, [](Request& r) { r.set_maker(0); }},
      {StatusCode::kInvalidArgument, [](Request& r) { r.set_row_shape(0, -1); }},
      {StatusCode::kInvalidArgument, [](Request& r) { r.mutable_initializer()->mutable_normal()->set_stddev(-1); }},
      {StatusCode::kInvalidArgument, [](Request& r) { r.mutable_initializer()->set_stream("a/b"); }},
      {StatusCode::kInvalidArgument, [](Request& r) { r.set_dtype(static_cast<uint32_t>(DType::kI32)); }},
      {StatusCode::kInvalidArgument, [](Request& r) { r.mutable_initializer()->mutable_uniform()->set_low(2); }},
      {StatusCode::kResourceExhausted, [](Request& r) { r.set_row_shape(0, int64_t{1} << 40); }},
      {StatusCode::kResourceExhausted, [](Request& r) { r.mutable_row_shape()->Resize(9, 1); }}};
  for (const auto& [code, damage] : wrong) {
    Request request = ValidCreate();
    damage(request);
    EXPECT_EQ(TensorSpecOf(request).status().code(), code) << request.DebugString();
  }
}

TEST(HopQueryOfTest, BoundsTheNumberOfRelations) {
  rpc::Frame<graph::v1::InSubgraphRequest> frame;
  for (int i = 0; i < 4; ++i) {
    frame.header.add_edge_types(0);
    frame.tensors.push_back(Tensor::FromVector<uint32_t>({}));
  }
  EXPECT_TRUE(HopQueryOf(frame, {.max_relations = 4}).ok());
  EXPECT_EQ(HopQueryOf(frame, {.max_relations = 3}).status().code(), StatusCode::kResourceExhausted);
}

TEST(RequestTensorsTest, TakesVectorsOfIdsOnly) {
  const ServiceLimits limits{.max_rows = 3};
  EXPECT_TRUE(LocalIds(Tensor::FromVector<uint32_t>({1, 2, 3}), limits).ok());
  EXPECT_EQ(LocalIds(Tensor::FromVector<uint32_t>({1, 2, 3, 4}), limits).status().code(),
            StatusCode::kResourceExhausted);
  EXPECT_EQ(LocalIds(Tensor::FromVector<uint64_t>({1}), limits).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(LocalIds(Tensor::FromVector<uint32_t>({1, 2}, {2, 1}), limits).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(LocalIds(Tensor::FromVector<float>({1}), limits).status().code(), StatusCode::kInvalidArgument);
  const auto wide = WideIds<OriginalNodeId>(Tensor::FromVector<uint64_t>({1, uint64_t{1} << 40}), limits);
  ASSERT_TRUE(wide.ok());
  EXPECT_EQ((*wide)[1], OriginalNodeId(uint64_t{1} << 40));
}

TEST(GraphRequestsTest, RefusesUnknownPartsAndEmptyBatches) {
  rpc::Frame<graph::v1::SeedsOfStepRequest> frame;
  graph::v1::SeedsOfStepRequest& request = frame.header;
  const ServiceLimits limits{.max_rows = 2};
  EXPECT_THAT(SeedQueryOf(frame, limits).status().message(), HasSubstr("split part"));
  request.set_part(graph::v1::SPLIT_PART_TEST);
  EXPECT_THAT(SeedQueryOf(frame, limits).status().message(), HasSubstr("batch size"));
  request.set_batch_size(4);
  EXPECT_TRUE(SeedQueryOf(frame, limits).ok());
  request.set_node_type(65'536);
  EXPECT_THAT(SeedQueryOf(frame, limits).status().message(), HasSubstr("65536"));
  request.set_of_edges(true);
  EXPECT_THAT(SeedQueryOf(frame, limits).status().message(), HasSubstr("edges of no edge type"));
  request.add_edge_types(7);
  request.add_edge_types(65'536);
  EXPECT_THAT(SeedQueryOf(frame, limits).status().message(), HasSubstr("65536"));

  request.clear_edge_types();
  request.add_edge_types(7);
  request.set_of_positions(true);
  EXPECT_THAT(SeedQueryOf(frame, limits).status().message(), HasSubstr("0 tensors, expected 1"));
  frame.tensors.push_back(Tensor::FromVector<uint32_t>({3, 5}));
  ASSERT_TRUE(SeedQueryOf(frame, limits).ok());
  EXPECT_EQ(SeedQueryOf(frame, limits)->positions, (std::vector<uint32_t>{3, 5}));
  frame.tensors[0] = Tensor::FromVector<uint32_t>({3, 5, 8});
  EXPECT_EQ(SeedQueryOf(frame, limits).status().code(), StatusCode::kResourceExhausted);
  frame.tensors[0] = Tensor::FromVector<uint64_t>({3});
  EXPECT_THAT(SeedQueryOf(frame, limits).status().message(), HasSubstr("expected U32 [k]"));
}

TEST(GraphRequestsTest, RefusesDrawsThatCouldNotBeSent) {
  rpc::Frame<graph::v1::SampleNeighborsRequest> frame;
  graph::v1::RelationQuery* relation = frame.header.add_relations();
  relation->set_fanout(1000);
  frame.tensors.push_back(Tensor::Zeros(DType::kU32, {1000}));
  frame.header.set_replace(true);
  const ServiceLimits limits{.max_reply_bytes = 1'000'000};
  EXPECT_EQ(HopQueryOf(frame, limits).status().code(), StatusCode::kResourceExhausted);
  relation->set_fanout(100);
  EXPECT_TRUE(HopQueryOf(frame, limits).ok());
  frame.tensors.clear();
  EXPECT_EQ(HopQueryOf(frame, limits).status().code(), StatusCode::kInvalidArgument);
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

// With 25 joint negatives for each edge: 100 for this trainer's.
minibatch::v1::StreamStart StartOfLinks() {
  minibatch::v1::StreamStart start = GoodStart();
  minibatch::v1::LinkPlan* links = start.mutable_links();
  links->add_types()->set_edge_type(3);
  links->mutable_types(0)->set_reverse_type(0);
  links->set_negatives(minibatch::v1::NEGATIVES_JOINT);
  links->set_negatives_per_edge(25);
  return start;
}

minibatch::v1::StreamStart StartOfLabelledEdges() {
  minibatch::v1::StreamStart start = GoodStart();
  start.mutable_edges()->set_edge_type(3);
  start.mutable_edges()->set_label("rating");
  return start;
}

// What becomes of a start that `change` has changed.
template <class Change>
StatusCode PlanCodeOf(minibatch::v1::StreamStart start, Change change) {
  change(start);
  return StreamPlanOf(start, kPlanLimits).status().code();
}

TEST(MiniBatchMessagesTest, RefusesPlansThatMakeNoSense) {
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

TEST(MiniBatchMessagesTest, ReadsPlansOfLinks) {
  const Result<StreamPlan> stream = StreamPlanOf(StartOfLinks(), kPlanLimits);
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
  const Result<StreamPlan> asked = StreamPlanOf(with_rows, kPlanLimits);
  ASSERT_TRUE(asked.ok()) << asked.status().ToString();
  EXPECT_TRUE(asked->want_edge_ids && asked->plan.links()->want_pair_ids && !asked->plan.links()->exclude_batch);
  EXPECT_THAT(asked->plan.links()->edge_columns, ::testing::ElementsAre("amount"));
}

TEST(MiniBatchMessagesTest, RefusesLinksThatMakeNoSense) {
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

TEST(MiniBatchMessagesTest, ReadsPlansOfLabelledEdges) {
  const Result<StreamPlan> labelled = StreamPlanOf(StartOfLabelledEdges(), kPlanLimits);
  ASSERT_TRUE(labelled.ok() && labelled->plan.edges() != nullptr) << labelled.status().ToString();
  EXPECT_EQ(labelled->plan.edges()->edge_type, EdgeTypeId(3));
  EXPECT_EQ(labelled->plan.edges()->label, "rating");
  EXPECT_EQ(
      PlanCodeOf(StartOfLabelledEdges(), [](auto& start) { start.mutable_edges()->set_exclude_reverse(1 << 20); }),
      StatusCode::kInvalidArgument);
  EXPECT_EQ(PlanCodeOf(StartOfLinks(), [](auto& start) { start.mutable_edges()->set_label("rating"); }),
            StatusCode::kInvalidArgument)
      << "links and labelled edges at once";
}

TEST(MiniBatchMessagesTest, BoundsFanOutsTimesBatch) {
  const graph::GraphSchema schema = *graph::GraphSchema::Make({"n"}, {{"n", "r", "n"}});
  const auto book = graph::PartitionBook::Make(schema, {{0, 1000}}, {{0, 5000}});
  ASSERT_TRUE(book.ok());
  StreamPlan stream;
  stream.plan.batch_size = 20;
  stream.plan.num_trainers = 2;
  stream.spec.layers = {{{3}}, {{10}}};  // 11 nodes draw 110 edges, 121 nodes draw 363
  EXPECT_EQ(MostDrawsOf(stream, *book), 473u);
  stream.plan.seeds = sampler::EdgePlan();  // 22 ends draw 220 edges, 242 nodes draw 726
  EXPECT_EQ(MostDrawsOf(stream, *book), 946u);
  stream.plan.seeds = sampler::NodePlan();
  stream.spec.layers = {{{100}}, {{100}}};  // 1100 edges, then all 5000 of the graph
  EXPECT_EQ(MostDrawsOf(stream, *book), 6100u);
  stream.spec.draw.replace = true;
  EXPECT_EQ(MostDrawsOf(stream, *book), 1100u + 1111u * 100);
  EXPECT_TRUE(CheckDraws(stream, *book, {}).ok());
  EXPECT_EQ(CheckDraws(stream, *book, {.max_draws_per_batch = 1000}).code(), StatusCode::kResourceExhausted);
  stream.plan.batch_size = ~uint64_t{0};
  for (int i = 0; i < 60; ++i) stream.spec.layers.push_back({{1 << 20}});
  EXPECT_EQ(CheckDraws(stream, *book, {}).code(), StatusCode::kResourceExhausted);
  stream.spec.layers = {{{-1}}, {{0}}};  // the graph bounds it
  EXPECT_EQ(MostDrawsOf(stream, *book), 0u);
}

// A graph of a few relations has none such; one with tens of thousands, in many layers, does.
TEST(MiniBatchMessagesTest, RefusesABatchWhoseDescriptionIsTooLarge) {
  sampler::MiniBatch batch;
  batch.layers.resize(1);
  batch.layers.front().num_inputs.assign(1000, ~0u);
  EXPECT_TRUE(EncodeMiniBatch(batch).ok());
  batch.layers.front().num_inputs.assign(900'000, ~0u);
  const Status refused = EncodeMiniBatch(batch).status();
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(refused.message(), HasSubstr("a mini-batch of 1 layers with 0 relations in all"));
}

TEST(RpcMetricsTest, CountsCallsByMethodAndCode) {
  telemetry::MetricRegistry registry;
  RpcMetrics metrics(registry);
  metrics.Finished("GatherRows", StatusCode::kOk, 0.01, 100, 2000);
  metrics.Finished("GatherRows", StatusCode::kNotFound, 0.01, 50, 0);
  const std::string text = registry.Serialize();
  EXPECT_THAT(text, HasSubstr("espalier_rpc_request_bytes_total{method=\"GatherRows\"} 150"));
  EXPECT_THAT(text, HasSubstr("espalier_rpc_reply_bytes_total{method=\"GatherRows\"} 2000"));
  EXPECT_THAT(text, HasSubstr("code=\"NOT_FOUND\""));
}

}  // namespace
}  // namespace espalier::server
