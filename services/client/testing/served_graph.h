// A test graph on gRPC servers in this process, which listen on free ports.
#pragma once

#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "services/client/remote/remote_partition.h"
#include "services/client/session/session.h"
#include "services/server/graph_server.h"
#include "services/shard/testing/test_graph.h"

namespace espalier::client::testing {

inline constexpr const char* kPartitionKey = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

struct ServedGraphOptions {
  server::ServiceLimits limits;
  uint64_t incarnation = 0;
  size_t max_request_bytes = size_t{64} << 20;
  int worker_threads = 2;
  partition::BuildOptions build;
  std::shared_ptr<const server::PluginFunctions> functions;  // plugin functions and initializers; null: none
  std::string machine;                                       // machine that all servers report
  telemetry::MetricRegistry* metrics = nullptr;              // shared by all servers
};

// Accepts connections at an address and never sends anything.
class SilentListener {
 public:
  explicit SilentListener(const std::string& address);  // "127.0.0.1:port"; port 0 selects a free port
  ~SilentListener();
  SilentListener(const SilentListener&) = delete;
  SilentListener& operator=(const SilentListener&) = delete;
  const std::string& address() const { return address_; }
  // Blocks until a client has connected. If only one client connects, its call is pending when this returns.
  void AwaitConnection();

 private:
  int descriptor_;
  std::string address_;
  std::vector<int> connections_;
};

// One server per partition. Two ServedGraphs with the same source are replicas of each other.
class ServedGraph {
 public:
  ServedGraph(const graph::SourceGraph& source, uint32_t num_partitions, const ServedGraphOptions& options = {});

  const shard::testing::TestGraph& local() const { return local_; }
  sampler::PartitionedGraph& local_graph() const { return *local_.graph; }
  std::vector<std::string> addresses() const { return addresses_; }
  server::GraphServer& server(uint32_t partition) { return *servers_[partition]; }

  std::shared_ptr<rpc::Peer> MakePeer(uint32_t partition) const;
  // Returns a client of one server, which requests pieces of `reply_bytes`.
  std::shared_ptr<RemotePartition> Remote(uint32_t partition, size_t reply_bytes = rpc::kPreferredReplyBytes) const;
  // Stops a server at once: calls in flight fail.
  void Kill(uint32_t partition);
  // Kills a server and replaces it by a SilentListener.
  void Hang(uint32_t partition);
  // Blocks until a client of a partition that hangs has a pending call.
  void AwaitCall(uint32_t partition) { hung_.at(partition)->AwaitConnection(); }
  // Restarts a server at its old address with the same partition, but without mutable tensors.
  void Restart(uint32_t partition) { Restart(partition, options_.incarnation); }
  void Restart(uint32_t partition, uint64_t incarnation);

 private:
  std::unique_ptr<server::GraphServer> StartServer(std::shared_ptr<shard::GraphShard> shard, const std::string& listen,
                                                   uint64_t incarnation);

  const ServedGraphOptions options_;
  const graph::SourceGraph source_;
  shard::testing::TestGraph local_;
  std::map<uint32_t, std::unique_ptr<SilentListener>> hung_;
  std::vector<std::unique_ptr<server::GraphServer>> servers_;
  std::vector<std::string> addresses_;
};

// Returns the number of calls of a method ("GatherRows") that servers with these metrics have served with OK.
double AnsweredCalls(telemetry::MetricRegistry& metrics, const std::string& method);

// A homogeneous graph with 20'000 edges, weights, 4 features and 150 training nodes, and a heterograph of papers and
// authors. Both have a split "links" of edges of one type, with 200 training edges and a column "rating". With fewer
// nodes the first graph is scaled down.
graph::SourceGraph SmallGraph(uint64_t num_nodes = 1500);
graph::SourceGraph SmallTypedGraph();

// Blocks until an asynchronous call is done: Await<Tensor>([&](auto done) { access.InDegrees(..., done); }).
template <class T, class Ask>
Result<T> Await(Ask ask) {
  auto promise = std::make_shared<std::promise<Result<T>>>();
  ask([promise](Result<T> result) { promise->set_value(std::move(result)); });
  return promise->get_future().get();
}

template <class Ask>
Status AwaitStatus(Ask ask) {
  auto promise = std::make_shared<std::promise<Status>>();
  ask([promise](Status status) { promise->set_value(std::move(status)); });
  return promise->get_future().get();
}

}  // namespace espalier::client::testing
