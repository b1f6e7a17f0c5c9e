// A sampler as one object: its service, worker threads and gRPC server.
#pragma once

#include <memory>
#include <string>

#include "services/rpc/server.h"
#include "services/sampler/routing/partitioned_graph.h"
#include "services/server/mini_batch_service.h"

namespace espalier::server {

struct SamplerServerOptions {
  rpc::ServerOptions rpc;
  ServiceLimits limits;
  int worker_threads = 1;
  // How many batches, of all streams together, may wait for a worker. A stream whose batch finds the queue full gets
  // UNAVAILABLE.
  size_t queue_capacity = 4096;
  std::string partition_key;
  std::string job;           // the job whose mini-batches this server samples
  uint64_t incarnation = 0;  // of `job`
  std::chrono::milliseconds step_timeout = MiniBatchServiceOptions().step_timeout;
  std::function<Status(const messages::StreamPlan&)> admit;  // an error refuses the stream; null accepts all
  telemetry::MetricRegistry* metrics = nullptr;              // outlives the server; null: no metrics
};

// Thread-safe, except Drain, which is for one thread.
class SamplerServer {
 public:
  // Starts a server of mini-batches of `graph`, which serves until it is drained or destroyed. The errors are those of
  // rpc::RpcServer::Start.
  static Result<std::unique_ptr<SamplerServer>> Start(const SamplerServerOptions& options,
                                                      std::shared_ptr<sampler::PartitionedGraph> graph);

  const std::string& address() const { return rpc_->address(); }
  // Refuses new streams, waits for those in progress, and cancels the remaining ones at the deadline.
  void Drain(Deadline deadline) { rpc_->Drain(deadline); }

 private:
  SamplerServer(const SamplerServerOptions& options, std::shared_ptr<sampler::PartitionedGraph> graph);

  const std::shared_ptr<sampler::PartitionedGraph> graph_;
  RequestGate gate_;
  std::unique_ptr<RpcMetrics> metrics_;
  std::unique_ptr<MiniBatchService> service_;
  std::unique_ptr<rpc::WorkerPool> workers_;  // after service_, because its tasks use the service
  std::unique_ptr<rpc::RpcServer> rpc_;       // last: drains before the objects that it calls are destroyed
};

}  // namespace espalier::server
