// A server responds to arbitrary bytes with an error and stays usable.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/philox.h"
#include "services/client/testing/served_graph.h"
#include "services/graph/generators.h"
#include "services/messages/hop_messages.h"
#include "services/rpc/call.h"
#include "services/rpc/frame.h"

namespace espalier::client {
namespace {

using testing::ServedGraph;

constexpr const char* kMethods[] = {"/espalier.graph.v1.GraphStore/SampleNeighbors",
                                    "/espalier.graph.v1.GraphStore/InSubgraph",
                                    "/espalier.graph.v1.GraphStore/GatherRows",
                                    "/espalier.graph.v1.GraphStore/SeedsOfStep",
                                    "/espalier.graph.v1.GraphStore/LookUp",
                                    "/espalier.graph.v1.GraphStore/InDegrees",
                                    "/espalier.graph.v1.GraphStore/FindEdges",
                                    "/espalier.graph.v1.GraphStore/GatherEdgeRows",
                                    "/espalier.tensor.v1.TensorStore/Create",
                                    "/espalier.tensor.v1.TensorStore/Complete",
                                    "/espalier.tensor.v1.TensorStore/Describe",
                                    "/espalier.tensor.v1.TensorStore/Read",
                                    "/espalier.tensor.v1.TensorStore/Write",
                                    "/espalier.tensor.v1.TensorStore/Combine",
                                    "/espalier.tensor.v1.TensorStore/Reduce",
                                    "/espalier.tensor.v1.TensorStore/Drop",
                                    "/espalier.tensor.v1.EmbeddingStore/Create",
                                    "/espalier.tensor.v1.EmbeddingStore/Read",
                                    "/espalier.tensor.v1.EmbeddingStore/Push",
                                    "/espalier.tensor.v1.EmbeddingStore/Drop",
                                    "/espalier.function.v1.ServerFunctions/ListFunctions",
                                    "/espalier.function.v1.ServerFunctions/CallFunction"};

grpc::ByteBuffer Message(const std::string& bytes) {
  const grpc::Slice slice(bytes.data(), bytes.size());
  return grpc::ByteBuffer(&slice, 1);
}

std::string ToBytes(const grpc::ByteBuffer& message) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(message.Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

StatusCode Send(const std::shared_ptr<rpc::Peer>& peer, const char* method, const std::string& bytes) {
  return rpc::CallAndWait(peer, method, Message(bytes), Deadline::After(std::chrono::seconds(30))).status().code();
}

std::string ValidSample(const ServedGraph& served) {
  sampler::PartitionHopQuery query;
  query.relations.push_back({EdgeTypeId(0), 3, {}});
  for (uint32_t i = 0; i < 50; ++i) query.relations[0].destinations.emplace_back(i);
  tensor::v1::RequestIdentity identity;
  identity.set_partition_key(testing::kPartitionKey);
  EXPECT_EQ(served.local().book.num_partitions(), 1u);
  return ToBytes(messages::EncodeHopRequest(query, {{0, 0, 50}}, identity));
}

TEST(HostileFramesTest, GarbageIsInvalid) {
  ServedGraph served(testing::SmallGraph(), 1);
  const auto peer = served.MakePeer(0);
  for (const char* method : kMethods) {
    for (const std::string& bytes :
         {std::string(), std::string("x"), std::string(1000, '\xff'), std::string(64, '\0')}) {
      EXPECT_THAT(Send(peer, method, bytes),
                  ::testing::AnyOf(StatusCode::kInvalidArgument, StatusCode::kFailedPrecondition))
          << method << " " << bytes.size();
    }
  }
  EXPECT_EQ(Send(peer, kMethods[0], ValidSample(served)), StatusCode::kOk);
}

// Times and walks must have one entry per destination and the right type, or be absent.
TEST(HostileFramesTest, TimesAndWalksMustMatchDestinations) {
  ServedGraph served(testing::SmallGraph(), 1, {.build = {.time_column = graph::kEdgeWeightColumn}});
  const auto peer = served.MakePeer(0);
  const auto code_of = [&](graph::v1::SampleNeighborsRequest request, const std::vector<Tensor>& tensors) {
    request.mutable_identity()->set_partition_key(testing::kPartitionKey);
    graph::v1::RelationQuery* relation = request.add_relations();
    relation->set_fanout(2);
    return Send(peer, kMethods[0], ToBytes(rpc::EncodeFrame(std::move(request), tensors)));
  };
  const Tensor destinations = Tensor::FromVector<uint32_t>({1, 2, 3});
  const Tensor walks = Tensor::FromVector<uint64_t>({4, 5, 6}), times = Tensor::FromVector<int64_t>({4, 5, 6});
  graph::v1::SampleNeighborsRequest walking, timed, unknown;
  walking.set_has_walks(true);
  timed.set_time_column(graph::kEdgeWeightColumn);  // of floats
  unknown.set_method(static_cast<graph::v1::DrawMethod>(9));
  EXPECT_EQ(code_of({}, {destinations}), StatusCode::kOk);
  EXPECT_EQ(code_of(walking, {destinations, walks}), StatusCode::kOk);
  EXPECT_EQ(code_of(walking, {destinations}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of(walking, {destinations, times}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of(walking, {destinations, Tensor::FromVector<uint64_t>({4, 5})}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of({}, {destinations, walks}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of(timed, {destinations}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of(timed, {destinations, walks}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of(timed, {destinations, times}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of(unknown, {destinations}), StatusCode::kInvalidArgument);
}

TEST(HostileFramesTest, OversizedRequestsAreRefused) {
  ServedGraph served(testing::SmallGraph(), 1, {.max_request_bytes = 1 << 20});
  const auto peer = served.MakePeer(0);
  EXPECT_EQ(Send(peer, kMethods[0], std::string(2 << 20, 'x')), StatusCode::kResourceExhausted);
  EXPECT_EQ(Send(peer, kMethods[0], ValidSample(served)), StatusCode::kOk);
}

TEST(HostileFramesTest, DamagedRequestsDoNotCrashServer) {
  ServedGraph served(testing::SmallGraph(), 1);
  const auto peer = served.MakePeer(0);
  const std::string valid = ValidSample(served);
  PhiloxStream random(7, 7);
  for (int round = 0; round < 1500; ++round) {
    std::string bytes = valid;
    for (uint32_t i = 0; i <= random.NextBelow(3); ++i) {
      // Change mostly bytes after the identity, so that the identity check passes.
      const size_t from = random.NextBelow(4) == 0 ? 0 : 70;
      bytes[from + random.NextBelow(static_cast<uint32_t>(bytes.size() - from))] = static_cast<char>(random.Next());
    }
    const StatusCode code = Send(peer, kMethods[random.NextBelow(2)], bytes);
    EXPECT_THAT(
        code, ::testing::AnyOf(StatusCode::kOk, StatusCode::kInvalidArgument, StatusCode::kNotFound,
                               StatusCode::kFailedPrecondition, StatusCode::kAborted, StatusCode::kResourceExhausted));
    // A damaged incarnation could make the server refuse all later requests.
    if (served.server(0).newest_incarnation() != 0) {
      served.Kill(0);
      served.Restart(0);
    }
  }
  EXPECT_EQ(Send(peer, kMethods[0], valid), StatusCode::kOk);
}

// Reads and changes of a tensor, as a client sends them.
template <class Request, class... Tensors>
std::string ValidTensorRequest(Request request, const Tensors&... tensors) {
  request.mutable_identity()->set_partition_key(testing::kPartitionKey);
  request.mutable_tensor()->set_rows_of(tensor::v1::ROWS_OF_OWN);
  request.mutable_tensor()->set_num_own_rows(40);
  request.mutable_tensor()->set_name("hidden");
  const std::vector<Tensor> sent = {tensors...};
  return ToBytes(rpc::EncodeFrame(std::move(request), sent));
}

TEST(HostileFramesTest, DamagedTensorRequestsDoNotCrashServer) {
  ServedGraph served(testing::SmallGraph(), 1);
  const auto peer = served.MakePeer(0);
  const auto store = [](const char* method) { return "/espalier.tensor.v1.TensorStore/" + std::string(method); };
  tensor::v1::CreateRequest create;
  create.set_dtype(static_cast<uint32_t>(DType::kI32));
  create.add_row_shape(2);
  create.set_maker(1);
  const std::string valid_create = ValidTensorRequest(create);
  const Tensor rows = Tensor::FromVector<uint32_t>({3, 39, 3});
  tensor::v1::WriteRequest write;
  write.set_write(tensor::v1::ROW_WRITE_ADD);
  write.mutable_change()->set_client_id(9);
  tensor::v1::ReadRequest read;
  read.set_row_bytes(8);
  tensor::v1::CombineRequest combine;
  combine.set_write(tensor::v1::ROW_WRITE_MAX);
  combine.set_from("hidden");
  tensor::v1::ReduceRequest reduce;
  reduce.set_reduction(tensor::v1::REDUCTION_SUM);
  const std::pair<std::string, std::string> valid[] = {
      {store("Write"), ValidTensorRequest(write, rows, Tensor::Zeros(DType::kI32, {3, 2}))},
      {store("Read"), ValidTensorRequest(read, rows)},
      {store("Combine"), ValidTensorRequest(combine)},
      {store("Reduce"), ValidTensorRequest(reduce)},
      {store("Create"), valid_create},
      {store("Describe"), ValidTensorRequest(tensor::v1::DescribeTensorRequest())},
      {store("Drop"), ValidTensorRequest(tensor::v1::DropRequest())}};
  ASSERT_EQ(Send(peer, store("Create").c_str(), valid_create), StatusCode::kOk);
  for (const auto& [method, bytes] : valid) ASSERT_EQ(Send(peer, method.c_str(), bytes), StatusCode::kOk) << method;

  PhiloxStream random(8, 8);
  for (int round = 0; round < 1500; ++round) {
    ASSERT_EQ(Send(peer, store("Create").c_str(), valid_create), StatusCode::kOk);
    const auto& [method, undamaged] = valid[random.NextBelow(std::size(valid))];
    std::string bytes = undamaged;
    for (uint32_t i = 0; i <= random.NextBelow(3); ++i) {
      const size_t from = random.NextBelow(4) == 0 ? 0 : 70;
      bytes[from + random.NextBelow(static_cast<uint32_t>(bytes.size() - from))] = static_cast<char>(random.Next());
    }
    EXPECT_THAT(Send(peer, method.c_str(), bytes),
                ::testing::AnyOf(StatusCode::kOk, StatusCode::kInvalidArgument, StatusCode::kNotFound,
                                 StatusCode::kAlreadyExists, StatusCode::kFailedPrecondition, StatusCode::kAborted,
                                 StatusCode::kResourceExhausted));
    if (served.server(0).newest_incarnation() != 0) {
      served.Kill(0);
      served.Restart(0);
    }
  }
}

}  // namespace
}  // namespace espalier::client
