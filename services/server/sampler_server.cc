#include "services/server/sampler_server.h"

#include <algorithm>
#include <utility>

namespace espalier::server {

SamplerServer::SamplerServer(const SamplerServerOptions& options, std::shared_ptr<sampler::PartitionedGraph> graph)
    : graph_(std::move(graph)), gate_(options.partition_key, PartitionId(0), options.job, options.incarnation) {
  if (options.metrics != nullptr) metrics_ = std::make_unique<RpcMetrics>(*options.metrics);
  workers_ = std::make_unique<rpc::WorkerPool>(options.worker_threads, options.queue_capacity);
  const ServiceContext context{
      .workers = workers_.get(), .gate = &gate_, .metrics = metrics_.get(), .limits = options.limits};
  MiniBatchServiceOptions service;
  service.batches_at_once = static_cast<uint32_t>(std::max(1, options.worker_threads));
  service.step_timeout = options.step_timeout;
  service.admit = options.admit;
  service_ = std::make_unique<MiniBatchService>(*graph_, *graph_, context, std::move(service));
}

Result<std::unique_ptr<SamplerServer>> SamplerServer::Start(const SamplerServerOptions& options,
                                                            std::shared_ptr<sampler::PartitionedGraph> graph) {
  std::unique_ptr<SamplerServer> server(new SamplerServer(options, std::move(graph)));
  rpc::ServerOptions rpc = options.rpc;
  rpc.callers = {pki::PeerRole::kTrainer};
  ASSIGN_OR_RETURN(server->rpc_, rpc::RpcServer::Start(rpc, {server->service_.get()}));
  return server;
}

}  // namespace espalier::server
