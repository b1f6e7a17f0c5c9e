// espalier-graph-server: holds one partition and answers clients about it.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "services/apps/serving/nonce_file.h"
#include "services/apps/serving/partition_metrics.h"
#include "services/apps/serving/served_graph.h"
#include "services/apps/serving/service_process.h"
#include "services/apps/transport/certificate_metrics.h"
#include "services/apps/transport/job_name_flag.h"
#include "services/base/environment.h"
#include "services/rpc/machine.h"
#include "services/server/graph_server.h"
#include "services/server/plugin_initializers.h"
#include "services/storage/request_metrics.h"
#include "services/storage/scratch_folder.h"
#include "services/telemetry/log.h"

namespace espalier::serving {
namespace {

using telemetry::Level;
using telemetry::Log;

struct Flags {
  std::string partitions_uri;
  uint32_t partition = 0;
  std::string job_name;
  uint64_t incarnation = 0;
  std::string data_dir;
  uint64_t cache_bytes = 0;
  int32_t max_fanout = server::ServiceLimits().max_fanout;
  uint64_t max_rows = server::ServiceLimits().max_rows;
  int max_streams = rpc::ServerOptions().max_concurrent_streams;
  bool no_mapping = false;
  std::vector<std::string> plugins;
  ProcessOptions process;
};

void AddFlags(CLI::App& app, Flags* flags) {
  app.add_option("--partitions", flags->partitions_uri, "URI of the folder with manifest.json")
      ->envname("ESPALIER_PARTITIONS")
      ->required();
  app.add_option("--partition", flags->partition, "which partition to serve, from 0")
      ->envname("ESPALIER_PARTITION")
      ->required();
  transport::AddJobNameFlag(app, &flags->job_name,
                            "of the job that --incarnation is about, as its trainers'; default: of the job without a "
                            "name; any number of jobs are served");
  app.add_option("--incarnation", flags->incarnation, "that job's restarts so far; older clients of it are refused")
      ->envname("ESPALIER_INCARNATION")
      ->capture_default_str();
  app.add_option("--data-dir", flags->data_dir,
                 "where files are copied that cannot be mapped where they lie; default: the user's cache")
      ->envname("ESPALIER_DATA_DIR");
  app.add_option("--cache-size", flags->cache_bytes, "most bytes of such copies, e.g. 20GiB; 0: no limit")
      ->envname("ESPALIER_CACHE_SIZE")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false))
      ->capture_default_str();
  app.add_option("--max-fanout", flags->max_fanout,
                 "in-edges per node that a request may draw (all of them is allowed)")
      ->envname("ESPALIER_MAX_FANOUT")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  app.add_option("--max-rows", flags->max_rows, "nodes or edges in one request")
      ->envname("ESPALIER_MAX_ROWS")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 28))
      ->capture_default_str();
  app.add_option("--max-streams", flags->max_streams, "calls under way per connection; further ones wait")
      ->envname("ESPALIER_MAX_STREAMS")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_flag("--no-mapping", flags->no_mapping, "do not offer the files to clients of the same host and user");
  app.add_option("--plugin", flags->plugins,
                 "NAME=PATH of a shared library whose functions clients may call, and which may initialise their "
                 "tensors; repeatable, or separated by commas")
      ->envname("ESPALIER_PLUGINS")
      ->delimiter(',')
      ->take_all()
      ->allow_extra_args(false);
  AddProcessFlags(app, &flags->process);
}

server::GraphServerOptions ServerOptionsOf(const Flags& flags, const format::Manifest& manifest,
                                           std::shared_ptr<const rpc::TransportSecurity> tls,
                                           telemetry::MetricRegistry& metrics) {
  server::GraphServerOptions options;
  options.rpc = RpcOptionsOf(flags.process);
  options.rpc.tls = std::move(tls);
  options.rpc.max_concurrent_streams = flags.max_streams;
  options.limits.max_fanout = flags.max_fanout;
  options.limits.max_rows = flags.max_rows;
  options.limits.max_reply_bytes = options.rpc.max_reply_bytes;
  options.worker_threads = ThreadsOf(flags.process);
  options.partition_key = manifest.partition_key;
  options.job = flags.job_name;
  options.incarnation = flags.incarnation;
  options.metrics = &metrics;
  return options;
}

// Before the partition, which may take long: what cannot be loaded is found at once.
Result<std::shared_ptr<const server::PluginFunctions>> LoadPlugins(const Flags& flags) {
  std::vector<server::PluginFile> files;
  for (const std::string& text : flags.plugins) {
    ASSIGN_OR_RETURN(server::PluginFile file, server::ParsePluginFile(text));
    files.push_back(std::move(file));
  }
  ASSIGN_OR_RETURN(auto functions, server::PluginFunctions::Load(files));
  for (const auto& [name, entry] : functions->by_name()) {
    const bool is_changing = entry.function.kind == server::FunctionKind::kChanging;
    Log(Level::kInfo, "function of a plugin",
        {{"function", name}, {"version", entry.plugin_version}, {"changes_tensors", is_changing}});
  }
  for (const auto& [name, initializer] : functions->initializers()) {
    Log(Level::kInfo, "initialiser of a plugin", {{"initialiser", name}});
  }
  return functions;
}

server::ServedFunctions FunctionsOf(std::shared_ptr<const server::PluginFunctions> functions,
                                    const std::shared_ptr<shard::GraphShard>& shard, const Flags& flags) {
  server::ServedFunctions served;
  served.functions = std::move(functions);
  // Parts of the shard, which they keep.
  served.partition.book = std::shared_ptr<const graph::PartitionBook>(shard, &shard->book());
  served.partition.data = std::shared_ptr<const graph::Partition>(shard, &shard->data());
  served.threads = std::max(1, ThreadsOf(flags.process) / 2);
  return served;
}

std::string CacheFolderOf(const Flags& flags) {
  return flags.data_dir.empty() ? storage::DefaultCacheFolder(ReadEnvironment()) : flags.data_dir;
}

Result<ServedPartitionOptions> LoadOptionsOf(const Flags& flags, ServiceProcess& process) {
  ASSIGN_OR_RETURN(storage::StoreSettings stores, storage::StoreSettingsOf(ReadEnvironment()));
  stores.s3.metrics = std::make_shared<storage::RequestMetrics>(process.metrics());
  ServedPartitionOptions options;
  options.open_store = storage::OpenerWith(std::move(stores));
  options.cache = {.folder = CacheFolderOf(flags), .max_bytes = flags.cache_bytes};
  options.threads = ThreadsOf(flags.process);
  options.stop_requested = [stop = process.stop()] { return stop.stop_requested(); };
  return options;
}

// Absent where the nonce cannot be written: mapping is an offer, serving is the duty.
std::optional<NonceFile> MakeNonce(const Flags& flags) {
  if (flags.no_mapping) return std::nullopt;
  const Result<std::string> folder = flags.data_dir.empty() ? storage::ScratchFolder() : flags.data_dir;
  Result<NonceFile> nonce = folder.ok() ? NonceFile::Create(*folder) : folder.status();
  if (nonce.ok()) return *std::move(nonce);
  Log(Level::kWarning, "files are not offered for mapping", {{"error", nonce.status()}});
  return std::nullopt;
}

Result<ExitCode> Run(const Flags& flags, const CLI::App& app) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ServiceProcess> process,
                   ServiceProcess::Start("graph-server", flags.process, app, {{"data_dir", CacheFolderOf(flags)}}));
  ASSIGN_OR_RETURN(const auto tls, transport::LoadTls(flags.process.tls, pki::PeerRole::kServer));
  const auto certificate_expiry = transport::WatchCertificateExpiry(flags.process.tls, process->metrics());
  ASSIGN_OR_RETURN(auto functions, LoadPlugins(flags));
  const Timer timer;
  ASSIGN_OR_RETURN(ServedPartitionOptions load, LoadOptionsOf(flags, *process));
  load.initializers = std::make_shared<server::PluginInitializers>(functions);
  ASSIGN_OR_RETURN(const LoadedPartition loaded, LoadServedPartition(flags.partitions_uri, flags.partition, load));
  Log(Level::kInfo, "partition loaded",
      {{"partition", flags.partition}, {"key", loaded.manifest.partition_key}, {"seconds", timer.Seconds()}});
  CountPartition(loaded, timer.Seconds(), process->metrics());

  server::ServedGraph served;
  served.name = loaded.manifest.graph_name;
  served.description = DescriptionOf(loaded.manifest);
  served.machine = rpc::ThisMachine();
  served.warnings = loaded.manifest.warnings;
  const std::optional<NonceFile> nonce = MakeNonce(flags);
  if (nonce) {
    served.mapped_files.emplace();
    served.mapped_files->set_nonce_path(nonce->path());
    served.mapped_files->set_nonce(nonce->nonce());
    served.mapped_files->set_partitions_uri(loaded.local_uri);
  }
  server::GraphServerOptions options = ServerOptionsOf(flags, loaded.manifest, tls, process->metrics());
  options.functions = FunctionsOf(std::move(functions), loaded.shard, flags);
  ASSIGN_OR_RETURN(const std::unique_ptr<server::GraphServer> server,
                   server::GraphServer::Start(options, std::move(served), loaded.shard));
  return process->ServeUntilStopped(server->address(), [&](Deadline deadline) { server->Drain(deadline); });
}

int Main(int argc, char** argv) {
  CLI::App app{
      "Serves one partition of a graph.\n\nExample:\n  espalier-graph-server --partitions file:///srv/cora "
      "--partition 0 --listen 127.0.0.1:7000",
      "espalier-graph-server"};
  Flags flags;
  AddFlags(app, &flags);
  return ParseAndRun(app, argc, argv, flags.process, [&] { return Run(flags, app); });
}

}  // namespace
}  // namespace espalier::serving

int main(int argc, char** argv) { return espalier::serving::Main(argc, argv); }
