// Plugin functions over gRPC: their view of the partition, responses and errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "espalier/function/v1/function.pb.h"
#include "services/client/graph/dist_graph.h"
#include "services/client/session/mapped_partition.h"
#include "services/client/testing/open_served.h"
#include "services/rpc/call.h"
#include "services/rpc/frame.h"

namespace espalier::client {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using testing::Await;
using ::testing::HasSubstr;
using testing::OpenServed;
using testing::ServedGraph;
using testing::ServedGraphOptions;

ServedGraphOptions WithTestPlugin() { return testing::WithPlugin("test", ESPALIER_TEST_PLUGIN); }

// Returns the description of a partition in the format of the plugin's function `describe`.
std::string Described(const graph::PartitionBook& book, PartitionId p) {
  std::ostringstream text;
  text << "partition " << p.value << " of " << book.num_partitions() << "\n";
  for (uint16_t number = 0; number < book.schema().num_node_types(); ++number) {
    const NodeTypeId type(number);
    const uint64_t owned = book.NumOwnedNodes(p, type);
    const graph::NodeLocation last = book.Locate(type, GlobalNodeId(book.num_nodes(type) - 1));
    text << "nodes " << number << ": " << owned << " from " << book.NodeFirst(type)[p.value] << " of "
         << book.num_nodes(type) << ", ids " << owned << ", the last is " << last.local.value << " of "
         << last.partition.value << "\n";
  }
  for (uint16_t number = 0; number < book.schema().num_edge_types(); ++number) {
    const EdgeTypeId type(number);
    const uint64_t owned = book.NumOwnedEdges(p, type);
    text << "edges " << book.schema().EdgeType(type).Name() << " " << book.schema().SourceOf(type).value << " "
         << book.schema().DestinationOf(type).value << ": " << owned << " from " << book.EdgeFirst(type)[p.value]
         << " of " << book.num_edges(type) << ", " << book.NumOwnedNodes(p, book.schema().DestinationOf(type)) + 1
         << " " << owned << "\n";
  }
  return text.str();
}

TEST(ServerFunctionsTest, CallsOneServerOrAll) {
  const ServedGraph served(testing::SmallTypedGraph(), 3, WithTestPlugin());
  const auto graph = OpenServed(served.addresses());
  const std::string bytes("a\0\xff", 3);
  EXPECT_EQ(*graph->CallFunction(PartitionId(1), "test/echo", bytes), bytes);
  EXPECT_EQ(*graph->CallFunction(PartitionId(1), "test/echo", ""), "");
  const auto all = graph->CallFunctionEverywhere("test/describe", "");
  ASSERT_TRUE(all.ok()) << all.status().ToString();
  ASSERT_EQ(all->size(), 3u);
  for (uint32_t p = 0; p < 3; ++p) EXPECT_EQ((*all)[p], Described(served.local().book, PartitionId(p)));
  EXPECT_EQ(graph->CallFunction(PartitionId(3), "test/echo", "").status().code(), StatusCode::kInvalidArgument);
}

TEST(ServerFunctionsTest, ListingHasFunctionsOfEachServer) {
  const ServedGraph served(testing::SmallGraph(), 1, testing::WithPlugin("tensors", ESPALIER_TEST_TENSOR_PLUGIN));
  function::v1::ListFunctionsRequest list;
  list.mutable_identity()->set_partition_key(testing::kPartitionKey);
  const auto reply = rpc::CallAndWait(served.MakePeer(0), "/espalier.function.v1.ServerFunctions/ListFunctions",
                                      rpc::EncodeFrame(std::move(list), {}), Deadline::After(seconds(60)));
  ASSERT_TRUE(reply.ok()) << reply.status().ToString();
  const auto frame = rpc::DecodeFrame<function::v1::ListFunctionsResponse>(*reply);
  ASSERT_TRUE(frame.ok()) << frame.status().ToString();
  std::string listed;
  for (const function::v1::Function& one : frame->header.functions()) {
    listed += one.name() + (one.is_idempotent() ? " idempotent" : "") + (one.changes_tensors() ? " changing" : "") +
              " of " + one.plugin_version() + "\n";
  }
  EXPECT_EQ(listed,
            "tensors/change changing of 3.0\ntensors/find idempotent of 3.0\ntensors/find_again idempotent of 3.0\n"
            "tensors/look idempotent of 3.0\ntensors/misuse changing of 3.0\n");
}

TEST(ServerFunctionsTest, FailureIsReportedAndServerContinues) {
  const ServedGraph served(testing::SmallGraph(), 2, WithTestPlugin());
  const auto graph = OpenServed(served.addresses());
  const auto error_of = [&](const std::string& function) {
    return graph->CallFunctionEverywhere(function, "").status();
  };
  EXPECT_EQ(error_of("test/nothing").code(), StatusCode::kUnimplemented);
  EXPECT_THAT(error_of("test/nothing").message(), AllOf(HasSubstr("'test/nothing'"), HasSubstr("'test/echo'")));
  EXPECT_EQ(error_of("test/throw").code(), StatusCode::kInternal);
  EXPECT_THAT(error_of("test/throw").message(), HasSubstr("function 'test/throw': out of luck"));
  EXPECT_EQ(error_of("test/throw-as-it-is").code(), StatusCode::kInternal);
  EXPECT_THAT(error_of("test/throw-as-it-is").message(), HasSubstr("as it is"));
  EXPECT_EQ(error_of("test/refuse").code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(error_of("test/refuse").message(), HasSubstr("not today?"));
  EXPECT_EQ(error_of("test/abort").code(), StatusCode::kInternal);  // ABORTED is reserved for older incarnations
  EXPECT_THAT(error_of("test/abort").message(), HasSubstr("status 10"));
  EXPECT_TRUE(graph->CallFunctionEverywhere("test/echo", "").ok());
}

TEST(ServerFunctionsTest, RequestsAndResponsesAreBounded) {
  ServedGraphOptions options = WithTestPlugin();
  options.limits.max_function_bytes = 1000;
  const ServedGraph served(testing::SmallGraph(), 1, options);
  const auto graph = OpenServed(served.addresses());
  const auto code_of = [&](const std::string& function, const std::string& request) {
    return graph->CallFunction(PartitionId(0), function, request).status().code();
  };
  EXPECT_EQ(code_of("test/echo", std::string(1000, 'x')), StatusCode::kOk);
  EXPECT_EQ(code_of("test/echo", std::string(1001, 'x')), StatusCode::kResourceExhausted);
  EXPECT_EQ(code_of("test/fill", "1000"), StatusCode::kOk);
  EXPECT_EQ(code_of("test/fill", "1001"), StatusCode::kResourceExhausted);
}

TEST(ServerFunctionsTest, RetriesOnlyIdempotentFunctions) {
  const ServedGraph served(testing::SmallGraph(), 1, WithTestPlugin());
  const auto graph = OpenServed(served.addresses());
  const PartitionId only(0);
  EXPECT_EQ(*graph->CallFunction(only, "test/repeated", "idempotent 2"), "3");
  EXPECT_EQ(graph->CallFunction(only, "test/once", "not 1").status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(*graph->CallFunction(only, "test/once", "not 1"), "2");
}

// The server has one thread for functions: the second call runs after the first.
TEST(ServerFunctionsTest, FunctionCanStopAtDeadline) {
  const ServedGraph served(testing::SmallGraph(), 1, WithTestPlugin());
  const auto impatient = OpenServed(served.addresses(), seconds(1)), patient = OpenServed(served.addresses());
  EXPECT_EQ(impatient->CallFunction(PartitionId(0), "test/wait", "").status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(*patient->CallFunction(PartitionId(0), "test/echo", "after"), "after");
}

TEST(ServerFunctionsTest, RefusesOlderIncarnation) {
  ServedGraphOptions options = WithTestPlugin();
  options.incarnation = 5;
  const ServedGraph served(testing::SmallGraph(), 1, options);
  const auto code_of = [&](uint64_t incarnation) {
    RemotePartitionOptions remote;
    remote.partition_key = testing::kPartitionKey;
    remote.partition = PartitionId(0);
    remote.incarnation = std::make_shared<Incarnation>(incarnation);
    RemotePartition access(served.MakePeer(0), served.local().book, remote);
    const Tensor nothing = Tensor::FromVector<uint8_t>({});
    return Await<Tensor>([&](auto done) {
             access.CallFunction("test/echo", nothing, TensorEffect::kNone, Deadline::After(seconds(60)), done);
           })
        .status()
        .code();
  };
  EXPECT_EQ(code_of(4), StatusCode::kAborted);
  EXPECT_EQ(code_of(5), StatusCode::kOk);
}

TEST(ServerFunctionsTest, MappedPartitionCallsItsServer) {
  const ServedGraph served(testing::SmallGraph(), 1, WithTestPlugin());
  MappedPartition mapped(served.local().shards[0], served.Remote(0));
  const auto echo = Await<Tensor>([&](auto done) {
    mapped.CallFunction("test/echo", Tensor::FromVector<uint8_t>({7}), TensorEffect::kNone,
                        Deadline::After(seconds(60)), done);
  });
  ASSERT_TRUE(echo.ok()) << echo.status().ToString();
  EXPECT_EQ(echo->values<uint8_t>()[0], 7);
}

TEST(ServerFunctionsTest, NoPluginsMeansNoFunctions) {
  const ServedGraph served(testing::SmallGraph(), 1);
  const Status by_rpc = OpenServed(served.addresses())->CallFunction(PartitionId(0), "test/echo", "").status();
  EXPECT_EQ(by_rpc.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(by_rpc.message(), HasSubstr("no plugins"));
  const auto here = served.local_graph().CallFunction({PartitionId(0)}, "test/echo", Tensor::FromVector<uint8_t>({}),
                                                      TensorEffect::kNone, Deadline::After(seconds(60)));
  EXPECT_EQ(here.status().code(), StatusCode::kUnimplemented);
  EXPECT_THAT(here.status().message(), HasSubstr("plugins run in graph servers"));
}

}  // namespace
}  // namespace espalier::client
