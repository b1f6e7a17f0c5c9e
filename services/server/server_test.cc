// The parts of the server that need no network: request gate and checks of requests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "services/server/draw_bounds.h"
#include "services/server/metrics.h"
#include "services/server/request_gate.h"
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

TEST(RequestGateTest, AdmitsOwnJobAndRaisesIncarnation) {
  RequestGate gate("k", PartitionId(2), "", 5);
  EXPECT_TRUE(gate.Admit(Identity("k", 2, 5)).ok());
  EXPECT_EQ(gate.Admit(Identity("k", 2, 4)).code(), StatusCode::kAborted);
  EXPECT_TRUE(gate.Admit(Identity("k", 2, 9)).ok());
  EXPECT_EQ(gate.newest_incarnation(), 9u);
  EXPECT_EQ(gate.Admit(Identity("k", 2, 5)).code(), StatusCode::kAborted);
}

TEST(RequestGateTest, IncarnationsAreSeparatePerJob) {
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
  EXPECT_EQ(gate.NewestIncarnation("nightly"), 2u);
  EXPECT_EQ(gate.NewestIncarnation("unseen"), 0u);
  EXPECT_EQ(gate.NewestIncarnation(""), 5u);
  EXPECT_EQ(code_of("", 4), StatusCode::kAborted);
  EXPECT_EQ(code_of("a/b", 9), StatusCode::kInvalidArgument);
  EXPECT_EQ(gate.newest_incarnation(), 5u);
  // The gate remembers a bounded number of jobs, including the job of the latest request.
  for (size_t i = 0; i < 2 * RequestGate::kOtherJobs; ++i) {
    EXPECT_EQ(code_of("job-" + std::to_string(i), 0), StatusCode::kOk);
    EXPECT_EQ(code_of("nightly", 2), StatusCode::kOk);
  }
  EXPECT_EQ(code_of("nightly", 1), StatusCode::kAborted);
}

TEST(RequestGateTest, ServedJobHasName) {
  RequestGate gate("k", PartitionId(2), "nightly", 5);
  tensor::v1::RequestIdentity identity = Identity("k", 2, 4);
  EXPECT_EQ(gate.Admit(identity), Status()) << "of the job without a name, which is another";
  identity.set_job("nightly");
  const Status refused = gate.Admit(identity);
  EXPECT_EQ(refused.code(), StatusCode::kAborted);
  EXPECT_THAT(refused.message(), HasSubstr("incarnation 4 of job 'nightly', which is now in incarnation 5"));
  EXPECT_EQ(gate.NewestIncarnation("nightly"), 5u);
  EXPECT_EQ(gate.NewestIncarnation(""), 4u);
  EXPECT_EQ(gate.newest_incarnation(), 5u);
}

TEST(RequestGateTest, OtherPeersDoNotRaiseIncarnation) {
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
  const auto spec = ParseTensorSpec(ValidCreate());
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

TEST(TensorSpecOfTest, ReadsAnInitializerOfAPlugin) {
  tensor::v1::CreateRequest request = ValidCreate();
  request.mutable_initializer()->mutable_plugin()->set_name("rows/ids");
  request.mutable_initializer()->mutable_plugin()->set_arguments(std::string("a\0b", 3));
  const auto spec = ParseTensorSpec(request);
  ASSERT_TRUE(spec.ok()) << spec.status().ToString();
  EXPECT_EQ(spec->initializer.kind, sampler::Initializer::Kind::kPlugin);
  EXPECT_EQ(spec->initializer.plugin, "rows/ids");
  EXPECT_EQ(spec->initializer.arguments, std::string("a\0b", 3));
  EXPECT_EQ(spec->initializer.seed, 11u);
  EXPECT_EQ(spec->initializer.stream, "rows");
  for (const char* wrong : {"", "rows", "/ids", "rows/", "rows/a/b", "rows/../ids"}) {
    request.mutable_initializer()->mutable_plugin()->set_name(wrong);
    EXPECT_EQ(ParseTensorSpec(request).status().code(), StatusCode::kInvalidArgument) << wrong;
  }
  request.mutable_initializer()->mutable_plugin()->set_name("rows/ids");
  request.mutable_initializer()->mutable_plugin()->set_arguments(std::string((1 << 20) + 1, 'x'));
  EXPECT_EQ(ParseTensorSpec(request).status().code(), StatusCode::kResourceExhausted);
}

TEST(TensorSpecOfTest, UnknownKindsAreNotZeros) {
  tensor::v1::CreateRequest request = ValidCreate();
  request.mutable_initializer()->clear_kind();
  const auto spec = ParseTensorSpec(request);
  ASSERT_TRUE(spec.ok()) << spec.status().ToString();
  EXPECT_EQ(spec->initializer.kind, sampler::Initializer::Kind::kZeros);

  constexpr int kKindOfTheFuture = 1000;
  tensor::v1::Initializer newer;
  newer.GetReflection()->MutableUnknownFields(&newer)->AddLengthDelimited(kKindOfTheFuture, "");
  ASSERT_TRUE(request.mutable_initializer()->ParseFromString(newer.SerializeAsString()));
  const Status refused = ParseTensorSpec(request).status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(), ::testing::HasSubstr("kind of the initializer"));
}

TEST(TensorSpecOfTest, RefusesInvalidSpecs) {
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
    EXPECT_EQ(ParseTensorSpec(request).status().code(), code) << request.DebugString();
  }
}

TEST(DrawBoundsTest, LimitsFanOutsTimesBatch) {
  const graph::GraphSchema schema = *graph::GraphSchema::Make({"n"}, {{"n", "r", "n"}});
  const auto book = graph::PartitionBook::Make(schema, {{0, 1000}}, {{0, 5000}});
  ASSERT_TRUE(book.ok());
  messages::StreamPlan stream;
  stream.plan.batch_size = 20;
  stream.plan.num_trainers = 2;
  stream.spec.layers = {{{3}}, {{10}}};  // 11 nodes draw 110 edges, 121 nodes draw 363
  EXPECT_EQ(MaxDraws(stream, *book), 473u);
  stream.spec.draw.expand = sampler::Expand::kOnce;  // 11 nodes draw 110 edges, 110 new nodes draw 330 more
  EXPECT_EQ(MaxDraws(stream, *book), 550u);
  stream.spec.draw.expand = sampler::Expand::kAlways;
  stream.plan.seeds = sampler::EdgePlan();  // 22 ends draw 220 edges, 242 nodes draw 726
  EXPECT_EQ(MaxDraws(stream, *book), 946u);
  stream.plan.seeds = sampler::NodePlan();
  stream.spec.layers = {{{100}}, {{100}}};  // 1100 edges, then all 5000 of the graph
  EXPECT_EQ(MaxDraws(stream, *book), 6100u);
  stream.spec.draw.replace = true;
  EXPECT_EQ(MaxDraws(stream, *book), 1100u + 1111u * 100);
  EXPECT_TRUE(CheckDraws(stream, *book, {}).ok());
  EXPECT_EQ(CheckDraws(stream, *book, {.max_draws_per_batch = 1000}).code(), StatusCode::kResourceExhausted);
  stream.plan.batch_size = ~uint64_t{0};
  for (int i = 0; i < 60; ++i) stream.spec.layers.push_back({{1 << 20}});
  EXPECT_EQ(CheckDraws(stream, *book, {}).code(), StatusCode::kResourceExhausted);
  stream.spec.layers = {{{-1}}, {{0}}};  // the graph bounds it
  EXPECT_EQ(MaxDraws(stream, *book), 0u);
}

TEST(RpcMetricsTest, CountsCallsByMethodAndCode) {
  telemetry::MetricRegistry registry;
  RpcMetrics metrics(registry);
  metrics.RecordCall("GatherRows", StatusCode::kOk, 0.01, 100, 2000);
  metrics.RecordCall("GatherRows", StatusCode::kNotFound, 0.01, 50, 0);
  const std::string text = registry.Serialize();
  EXPECT_THAT(text, HasSubstr("espalier_rpc_request_bytes_total{method=\"GatherRows\"} 150"));
  EXPECT_THAT(text, HasSubstr("espalier_rpc_reply_bytes_total{method=\"GatherRows\"} 2000"));
  EXPECT_THAT(text, HasSubstr("code=\"NOT_FOUND\""));
}

}  // namespace
}  // namespace espalier::server
