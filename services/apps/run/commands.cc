#include "services/apps/run/commands.h"

#include <algorithm>
#include <thread>

namespace espalier::run {
namespace {

constexpr const char* kAnyPort = "127.0.0.1:0";

std::string Joined(const std::vector<std::string>& texts) {
  std::string joined;
  for (const std::string& text : texts) joined += (joined.empty() ? "" : ",") + text;
  return joined;
}

ChildSpec CommandOf(const RunFolder& folder, const RoleOptions& options, const std::string& program,
                    const std::string& name) {
  // Idle OpenMP threads that spin take the processor from the other processes of the same machine.
  return {.name = name,
          .program = options.program_folder + "/" + program,
          .arguments = {},
          .environment = {{"OMP_WAIT_POLICY", "passive"}},
          .log_path = folder.LogFile(name),
          .output_path = {}};
}

void Append(std::vector<std::string>* arguments, std::vector<std::string> more) {
  arguments->insert(arguments->end(), more.begin(), more.end());
}

std::string ListenAddress(const Life& life) { return life.address.empty() ? kAnyPort : life.address; }

uint32_t ServerThreads(uint32_t num_servers) {
  return std::max(2u, std::thread::hardware_concurrency() / std::max(1u, num_servers));
}

}  // namespace

ChildSpec PartitionerCommand(const RunFolder& folder, const RoleOptions& options, const std::string& partitions_uri) {
  ChildSpec spec = CommandOf(folder, options, "espalier-partitioner", "partitioner");
  spec.arguments = {"--job", folder.JobFile(), "--output", partitions_uri, "--json"};
  spec.output_path = folder.OutputFile("partitioner");
  return spec;
}

ChildSpec ServerCommand(const RunFolder& folder, const RoleOptions& options, const job::DistTraining& job,
                        const std::string& partition_uri, uint32_t partition, const Life& life) {
  const std::string name = NameOf(ChildId{Role::kServer, partition});
  ChildSpec spec = CommandOf(folder, options, "espalier-graph-server", name);
  spec.arguments = {"--partitions",   partition_uri,
                    "--partition",    std::to_string(partition),
                    "--listen",       ListenAddress(life),
                    "--admin-listen", kAnyPort,
                    "--ready-file",   folder.ReadyFile(name),
                    "--incarnation",  std::to_string(life.incarnation),
                    "--threads",      std::to_string(ServerThreads(job.graph.partitions.count))};
  return spec;
}

ChildSpec SamplerCommand(const RunFolder& folder, const RoleOptions& options, uint32_t index,
                         const std::vector<std::string>& servers, const Life& life) {
  const std::string name = NameOf(ChildId{Role::kSampler, index});
  ChildSpec spec = CommandOf(folder, options, "espalier-sampler", name);
  spec.arguments = {"--job",          folder.JobFile(),
                    "--servers",      Joined(servers),
                    "--listen",       ListenAddress(life),
                    "--admin-listen", kAnyPort,
                    "--ready-file",   folder.ReadyFile(name),
                    "--access",       options.access,
                    "--incarnation",  std::to_string(life.incarnation)};
  return spec;
}

ChildSpec TrainerCommand(const RunFolder& folder, const RoleOptions& options, const job::DistTraining& job,
                         uint32_t rank, const TrainerPeers& peers, uint64_t incarnation) {
  const std::string name = NameOf(ChildId{Role::kTrainer, rank});
  ChildSpec spec = CommandOf(folder, options, "espalier-trainer", name);
  spec.arguments = {"--job",          folder.JobFile(),
                    "--servers",      Joined(peers.servers),
                    "--rank",         std::to_string(rank),
                    "--world-size",   std::to_string(job.trainer_replicas),
                    "--ready-file",   folder.ReadyFile(name),
                    "--output",       job.output_uri,
                    "--checkpoints",  job.output_uri + "/checkpoints",
                    "--resume",       "auto",
                    "--admin-listen", kAnyPort,
                    "--access",       options.access,
                    "--incarnation",  std::to_string(incarnation)};
  if (!peers.samplers.empty()) Append(&spec.arguments, {"--samplers", Joined(peers.samplers)});
  if (job.trainer_replicas > 1) Append(&spec.arguments, {"--rendezvous", peers.rendezvous});
  if (options.audit) Append(&spec.arguments, {"--audit", folder.AuditFile(name)});
  // The math library reads its thread count when it is loaded.
  const std::string threads = std::to_string(job.trainer_threads);
  spec.environment["OMP_NUM_THREADS"] = threads;
  spec.environment["OPENBLAS_NUM_THREADS"] = threads;
  return spec;
}

}  // namespace espalier::run
