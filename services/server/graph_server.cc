#include "services/server/graph_server.h"

#include <utility>

namespace espalier::server {

GraphServer::GraphServer(const GraphServerOptions& options, ServedGraph served,
                         std::shared_ptr<sampler::PartitionAccess> partition)
    : gate_(options.partition_key, partition->partition(), options.job, options.incarnation) {
  if (options.metrics != nullptr) metrics_ = std::make_unique<RpcMetrics>(*options.metrics);
  workers_ = std::make_unique<rpc::WorkerPool>(options.worker_threads, options.queue_capacity);
  if (options.functions.functions != nullptr && !options.functions.functions->empty()) {
    const ServedFunctions& functions = options.functions;
    plugin_workers_ =
        std::make_unique<rpc::WorkerPool>(functions.threads, functions.queue_capacity, functions.max_waiting_bytes);
    change_worker_ = std::make_unique<rpc::WorkerPool>(1, functions.queue_capacity, functions.max_waiting_bytes);
  }
  const ServiceContext context{.workers = workers_.get(),
                               .plugin_workers = plugin_workers_.get(),
                               .change_worker = change_worker_.get(),
                               .gate = &gate_,
                               .metrics = metrics_.get(),
                               .limits = options.limits};
  graph_service_ = std::make_unique<GraphService>(std::move(served), partition, context);
  tensor_service_ = std::make_unique<TensorService>(partition, applied_, context);
  embedding_service_ = std::make_unique<EmbeddingService>(partition, context);
  function_service_ = std::make_unique<FunctionService>(options.functions, std::move(partition), applied_, context);
}

Result<std::unique_ptr<GraphServer>> GraphServer::Start(const GraphServerOptions& options, ServedGraph served,
                                                        std::shared_ptr<sampler::PartitionAccess> partition) {
  std::unique_ptr<GraphServer> server(new GraphServer(options, std::move(served), std::move(partition)));
  rpc::ServerOptions rpc = options.rpc;
  rpc.callers = {pki::PeerRole::kSampler, pki::PeerRole::kTrainer};
  ASSIGN_OR_RETURN(server->rpc_,
                   rpc::RpcServer::Start(rpc, {server->graph_service_.get(), server->tensor_service_.get(),
                                               server->embedding_service_.get(), server->function_service_.get()}));
  return server;
}

}  // namespace espalier::server
