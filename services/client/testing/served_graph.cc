// All servers run in this process and serve shards of one test graph (shard/testing/test_graph.h). Restart partitions
// the source graph again with the same seed, so the new server has the same immutable data and no mutable tensors. Hang
// replaces a server by a listener that accepts connections and never responds.
#include "services/client/testing/served_graph.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "services/base/testing/soon.h"
#include "services/graph/generators.h"
#include "services/server/plugin_initializers.h"
#include "services/telemetry/listen_socket.h"
#include "services/telemetry/metrics.h"

namespace espalier::client::testing {
namespace {
constexpr uint64_t kCutSeed = 11;

std::shared_ptr<const sampler::RowInitializers> MakeInitializers(const ServedGraphOptions& options) {
  if (options.functions == nullptr) return nullptr;
  return std::make_shared<server::PluginInitializers>(options.functions);
}

}  // namespace

SilentListener::SilentListener(const std::string& address) {
  const Result<telemetry::ListenSocket> socket = telemetry::ListenOn(address);
  ESPALIER_CHECK(socket.ok()) << socket.status().ToString();
  descriptor_ = socket->descriptor;
  address_ = socket->address;
}

SilentListener::~SilentListener() {
  for (const int connection : connections_) close(connection);
  close(descriptor_);
}

void SilentListener::AwaitConnection() {
  pollfd readable{.fd = descriptor_, .events = POLLIN, .revents = 0};
  const auto patience = std::chrono::duration_cast<std::chrono::milliseconds>(Soon().Remaining());
  ESPALIER_CHECK(poll(&readable, 1, static_cast<int>(patience.count())) == 1) << "no client connects to " << address_;
  connections_.push_back(accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC));
}

ServedGraph::ServedGraph(const graph::SourceGraph& source, uint32_t num_partitions, const ServedGraphOptions& options)
    : options_(options),
      source_(source),
      local_(
          shard::testing::MakeTestGraph(source, num_partitions, kCutSeed, options.build, MakeInitializers(options))) {
  for (uint32_t p = 0; p < num_partitions; ++p) {
    servers_.push_back(StartServer(local_.shards[p], "127.0.0.1:0", options_.incarnation));
    addresses_.push_back(servers_.back()->address());
  }
}

std::unique_ptr<server::GraphServer> ServedGraph::StartServer(std::shared_ptr<shard::GraphShard> shard,
                                                              const std::string& listen, uint64_t incarnation) {
  server::GraphServerOptions options;
  options.rpc.listen = listen;
  options.rpc.max_request_bytes = options_.max_request_bytes;
  options.limits = options_.limits;
  options.worker_threads = options_.worker_threads;
  options.partition_key = kPartitionKey;
  options.incarnation = incarnation;
  options.functions.functions = options_.functions;
  options.functions.partition = {std::shared_ptr<const graph::PartitionBook>(shard, &shard->book()),
                                 std::shared_ptr<const graph::Partition>(shard, &shard->data())};
  options.metrics = options_.metrics;
  server::ServedGraph served;
  served.name = "test";
  served.machine = options_.machine;
  served.description = local_.graph->description();
  auto server = server::GraphServer::Start(options, std::move(served), std::move(shard));
  ESPALIER_CHECK(server.ok()) << server.status().ToString();
  return *std::move(server);
}

std::shared_ptr<rpc::Peer> ServedGraph::MakePeer(uint32_t partition) const {
  return std::make_shared<rpc::Peer>("graph server", addresses_[partition], rpc::ChannelSettings());
}

std::shared_ptr<RemotePartition> ServedGraph::Remote(uint32_t partition, size_t reply_bytes) const {
  RemotePartitionOptions options;
  options.partition_key = kPartitionKey;
  options.partition = PartitionId(partition);
  options.incarnation = std::make_shared<Incarnation>(options_.incarnation);
  options.reply_bytes_per_call = reply_bytes;
  return std::make_shared<RemotePartition>(MakePeer(partition), local_.book, options);
}

void ServedGraph::Kill(uint32_t partition) { servers_[partition].reset(); }

void ServedGraph::Hang(uint32_t partition) {
  Kill(partition);
  hung_[partition] = std::make_unique<SilentListener>(addresses_[partition]);
}

void ServedGraph::Restart(uint32_t partition, uint64_t incarnation) {
  hung_.erase(partition);
  servers_[partition].reset();
  const auto fresh = shard::testing::MakeTestGraph(source_, static_cast<uint32_t>(servers_.size()), kCutSeed,
                                                   options_.build, MakeInitializers(options_));
  servers_[partition] = StartServer(fresh.shards[partition], addresses_[partition], incarnation);
}

namespace {

// Split "links": the first edges of the last edge type, `num_train` for training and a quarter of that for validation.
// Its column "rating" has equal values for parallel edges.
void AddEdgeSplit(graph::SourceGraph& graph, int64_t num_train) {
  const size_t type = graph.edges.size() - 1;
  graph::EdgeSet& edges = graph.edges[type];
  std::vector<int64_t> ratings;
  for (int64_t i = 0; i < static_cast<int64_t>(edges.num_edges()); ++i) {
    ratings.push_back((edges.sources.ValueAsInt(i) + 3 * edges.destinations.ValueAsInt(i)) % 5);
  }
  edges.columns["rating"] = Tensor::FromVector(std::move(ratings));
  graph::EdgeSplit& split = graph.edge_splits["links"][static_cast<uint16_t>(type)];
  for (int64_t i = 0; i < num_train + num_train / 4; ++i) {
    graph::EdgePairs& part = i < num_train ? split.train : split.validation;
    part.sources.push_back(static_cast<uint64_t>(edges.sources.ValueAsInt(i)));
    part.destinations.push_back(static_cast<uint64_t>(edges.destinations.ValueAsInt(i)));
  }
}

}  // namespace

double AnsweredCalls(telemetry::MetricRegistry& metrics, const std::string& method) {
  return metrics
      .AddCounter("espalier_rpc_calls_total", "Completed calls, by status code.", {{"method", method}, {"code", "OK"}})
      .Value();
}

graph::SourceGraph SmallGraph(uint64_t num_nodes) {
  graph::PowerLawOptions options;
  options.num_nodes = num_nodes;
  options.num_edges = 40 * num_nodes / 3;
  options.community_size = num_nodes / 10;
  options.features.width = 4;
  options.edge_weights = true;
  options.seed = 5;
  Result<graph::SourceGraph> graph = graph::GeneratePowerLawGraph(options, 1);
  ESPALIER_CHECK(graph.ok()) << graph.status().ToString();
  AddEdgeSplit(*graph, static_cast<int64_t>(2 * num_nodes / 15));
  return *std::move(graph);
}

graph::SourceGraph SmallTypedGraph() {
  graph::TypedOptions options;
  options.num_papers = 800;
  options.num_authors = 400;
  options.seed = 6;
  Result<graph::SourceGraph> graph = graph::GenerateTypedGraph(options, 1);
  ESPALIER_CHECK(graph.ok()) << graph.status().ToString();
  AddEdgeSplit(*graph, 200);
  return *std::move(graph);
}

}  // namespace espalier::client::testing
