// A graph server as one object: its services, worker threads and gRPC server.
#pragma once

#include <memory>
#include <string>

#include "services/rpc/server.h"
#include "services/server/embedding_service.h"
#include "services/server/function_service.h"
#include "services/server/graph_service.h"
#include "services/server/tensor_service.h"

namespace espalier::server {

struct GraphServerOptions {
  rpc::ServerOptions rpc;
  ServiceLimits limits;
  int worker_threads = 1;
  size_t queue_capacity = 4096;  // calls that may wait for a worker; more get UNAVAILABLE
  std::string partition_key;
  std::string job;                               // the job for which the server was started; other jobs are served too
  uint64_t incarnation = 0;                      // of `job`
  ServedFunctions functions = {};                // of plugins; default: none
  telemetry::MetricRegistry* metrics = nullptr;  // outlives the server; null: no metrics
};

// Thread-safe, except Drain, which is for one thread.
class GraphServer {
 public:
  // Starts a server of one partition, which serves until it is drained or destroyed. The errors are those of
  // rpc::RpcServer::Start.
  static Result<std::unique_ptr<GraphServer>> Start(const GraphServerOptions& options, ServedGraph served,
                                                    std::shared_ptr<sampler::PartitionAccess> partition);

  const std::string& address() const { return rpc_->address(); }
  // Returns the newest incarnation seen of the server's own job.
  uint64_t newest_incarnation() const { return gate_.newest_incarnation(); }
  // Refuses new calls and waits for those in progress, until the deadline.
  void Drain(Deadline deadline) { rpc_->Drain(deadline); }

 private:
  GraphServer(const GraphServerOptions& options, ServedGraph served,
              std::shared_ptr<sampler::PartitionAccess> partition);

  RequestGate gate_;
  AppliedWrites applied_;  // of tensor_service_ and function_service_: a client numbers its changes across both
  std::unique_ptr<RpcMetrics> metrics_;
  std::unique_ptr<GraphService> graph_service_;
  std::unique_ptr<TensorService> tensor_service_;
  std::unique_ptr<EmbeddingService> embedding_service_;
  std::unique_ptr<FunctionService> function_service_;
  // Worker tasks use the services, so the pools are destroyed before the services. Tasks of workers_ submit tasks to
  // plugin_workers_, and those submit tasks to change_worker_. Without plugins, only workers_ exists.
  std::unique_ptr<rpc::WorkerPool> change_worker_;
  std::unique_ptr<rpc::WorkerPool> plugin_workers_;
  std::unique_ptr<rpc::WorkerPool> workers_;
  std::unique_ptr<rpc::RpcServer> rpc_;  // last: drains before the objects that it calls are destroyed
};

}  // namespace espalier::server
