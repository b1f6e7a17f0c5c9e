// Sampler servers in this process, which listen on free ports.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "services/client/testing/served_graph.h"
#include "services/server/sampler_server.h"

namespace espalier::client::testing {

// Samplers that share a graph. Aborts the process if one cannot be started.
class ServedSamplers {
 public:
  ServedSamplers(std::shared_ptr<sampler::PartitionedGraph> graph, size_t count,
                 const server::SamplerServerOptions& like = {})
      : like_(like), graph_(std::move(graph)) {
    for (size_t i = 0; i < count; ++i) {
      servers_.push_back(Start("127.0.0.1:0"));
      addresses_.push_back(servers_.back()->address());
    }
  }

  const std::vector<std::string>& addresses() const { return addresses_; }
  void Kill(size_t i) { servers_[i].reset(); }
  void Restart(size_t i) { servers_[i] = Start(addresses_[i]); }

 private:
  std::unique_ptr<server::SamplerServer> Start(const std::string& listen) {
    server::SamplerServerOptions options = like_;
    options.rpc.listen = listen;
    options.worker_threads = 2;
    options.partition_key = kPartitionKey;
    auto server = server::SamplerServer::Start(options, graph_);
    ESPALIER_CHECK(server.ok()) << server.status().ToString();
    return *std::move(server);
  }

  const server::SamplerServerOptions like_;
  const std::shared_ptr<sampler::PartitionedGraph> graph_;
  std::vector<std::unique_ptr<server::SamplerServer>> servers_;
  std::vector<std::string> addresses_;
};

}  // namespace espalier::client::testing
