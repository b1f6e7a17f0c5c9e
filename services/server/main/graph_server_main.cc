// espalier-graph-server: serves the structure, columns and tensors of one partition.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "services/base/environment.h"
#include "services/daemon/certificate_metrics.h"
#include "services/daemon/service_process.h"
#include "services/rpc/machine.h"
#include "services/server/graph_server.h"
#include "services/server/main/graph_server_flags.h"
#include "services/server/main/load_plugins.h"
#include "services/server/main/nonce_file.h"
#include "services/server/main/partition_metrics.h"
#include "services/server/main/served_graph.h"
#include "services/server/plugin_initializers.h"
#include "services/storage/request_metrics.h"
#include "services/telemetry/log.h"

namespace espalier::server {
namespace {

using telemetry::Level;
using telemetry::Log;

GraphServerOptions MakeServerOptions(const GraphServerFlags& flags, const format::Manifest& manifest,
                                     std::shared_ptr<const rpc::TransportSecurity> tls,
                                     telemetry::MetricRegistry& metrics) {
  GraphServerOptions options;
  options.rpc = daemon::MakeRpcOptions(flags.process);
  options.rpc.tls = std::move(tls);
  options.rpc.max_concurrent_streams = flags.max_streams;
  options.limits.max_fanout = flags.max_fanout;
  options.limits.max_rows = flags.max_rows;
  options.limits.max_reply_bytes = options.rpc.max_reply_bytes;
  options.worker_threads = daemon::CountThreads(flags.process);
  options.partition_key = manifest.partition_key;
  options.job = flags.job_name;
  options.incarnation = flags.incarnation;
  options.metrics = &metrics;
  return options;
}

ServedFunctions MakeFunctions(std::shared_ptr<const PluginFunctions> functions,
                              const std::shared_ptr<shard::GraphShard>& shard, const GraphServerFlags& flags) {
  ServedFunctions served;
  served.functions = std::move(functions);
  // Aliasing pointers, which share ownership of the shard.
  served.partition.book = std::shared_ptr<const graph::PartitionBook>(shard, &shard->book());
  served.partition.data = std::shared_ptr<const graph::Partition>(shard, &shard->data());
  served.threads = std::max(1, daemon::CountThreads(flags.process) / 2);
  return served;
}

std::string CacheFolder(const GraphServerFlags& flags) {
  return flags.data_dir.empty() ? storage::DefaultCacheFolder(ReadEnvironment()) : flags.data_dir;
}

Result<ServedPartitionOptions> MakeLoadOptions(const GraphServerFlags& flags, daemon::ServiceProcess& process) {
  ASSIGN_OR_RETURN(storage::StoreSettings stores, storage::ParseStoreSettings(ReadEnvironment()));
  stores.s3.metrics = std::make_shared<storage::RequestMetrics>(process.metrics());
  ServedPartitionOptions options;
  options.open_store = storage::OpenerWith(std::move(stores));
  options.cache = {.folder = CacheFolder(flags), .max_bytes = flags.cache_bytes};
  options.threads = daemon::CountThreads(flags.process);
  options.stop_requested = [stop = process.stop()] { return stop.stop_requested(); };
  return options;
}

Result<ExitCode> Run(const GraphServerFlags& flags, const CLI::App& app) {
  ASSIGN_OR_RETURN(
      const std::unique_ptr<daemon::ServiceProcess> process,
      daemon::ServiceProcess::Start("graph-server", flags.process, app, {{"data_dir", CacheFolder(flags)}}));
  ASSIGN_OR_RETURN(const auto tls, daemon::LoadTls(flags.process.tls, pki::PeerRole::kServer));
  const auto certificate_expiry = daemon::WatchCertificateExpiry(flags.process.tls, process->metrics());
  ASSIGN_OR_RETURN(auto functions, LoadPlugins(flags.plugins));
  const Timer timer;
  ASSIGN_OR_RETURN(ServedPartitionOptions load, MakeLoadOptions(flags, *process));
  load.initializers = std::make_shared<PluginInitializers>(functions);
  ASSIGN_OR_RETURN(const LoadedPartition loaded, LoadServedPartition(flags.partitions_uri, flags.partition, load));
  Log(Level::kInfo, "partition loaded",
      {{"partition", flags.partition}, {"key", loaded.manifest.partition_key}, {"seconds", timer.Seconds()}});
  SetPartitionMetrics(loaded, timer.Seconds(), process->metrics());

  ServedGraph served;
  served.name = loaded.manifest.graph_name;
  served.description = DescribeGraph(loaded.manifest);
  served.machine = rpc::ThisMachine();
  served.warnings = loaded.manifest.warnings;
  const std::optional<NonceFile> nonce = flags.no_mapping ? std::nullopt : OfferNonce(flags.data_dir);
  if (nonce) {
    served.mapped_files.emplace();
    served.mapped_files->set_nonce_path(nonce->path());
    served.mapped_files->set_nonce(nonce->nonce());
    served.mapped_files->set_partitions_uri(loaded.local_uri);
  }
  GraphServerOptions options = MakeServerOptions(flags, loaded.manifest, tls, process->metrics());
  options.functions = MakeFunctions(std::move(functions), loaded.shard, flags);
  ASSIGN_OR_RETURN(const std::unique_ptr<GraphServer> server,
                   GraphServer::Start(options, std::move(served), loaded.shard));
  return process->ServeUntilStopped(server->address(), [&](Deadline deadline) { server->Drain(deadline); });
}

int Main(int argc, char** argv) {
  CLI::App app{
      "Serves one partition of a graph.\n\nExample:\n  espalier-graph-server --partitions file:///srv/cora "
      "--partition 0 --listen 127.0.0.1:7000",
      "espalier-graph-server"};
  GraphServerFlags flags;
  AddGraphServerFlags(app, &flags);
  return daemon::ParseAndRun(app, argc, argv, flags.process, [&] { return Run(flags, app); });
}

}  // namespace
}  // namespace espalier::server

int main(int argc, char** argv) { return espalier::server::Main(argc, argv); }
