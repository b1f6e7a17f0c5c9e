// Command lines of the roles. Files and addresses are those of the child's site. A child inherits this process's
// environment, in which the user may have set flags for other Espalier processes (ESPALIER_...). Arguments take
// precedence over these variables. A variable that must not apply to the child, and that no argument replaces, is set
// to an empty value, which counts as not set.
#include "services/runner/run/commands.h"

#include "absl/strings/str_join.h"
#include "services/base/check.h"
#include "services/base/host_port.h"
#include "services/runner/run/plugin_path.h"
#include "services/runner/run/server_numbering.h"

namespace espalier::run {
namespace {

constexpr const char* kAnyPort = "127.0.0.1:0";

process::ChildSpec MakeCommand(const Site& site, const std::string& program, const std::string& name) {
  // OMP_WAIT_POLICY: idle OpenMP threads that spin would take processor time from other processes of the machine.
  return {.name = name,
          .program = site.program_folder + "/" + program,
          .arguments = {},
          .environment = {{"OMP_WAIT_POLICY", "passive"}},
          .log_path = site.paths.LogFile(name),
          .output_path = {}};
}

void Append(std::vector<std::string>* arguments, std::vector<std::string> more) {
  arguments->insert(arguments->end(), more.begin(), more.end());
}

std::string AddressAt(const std::string& host, uint16_t port) {
  return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + std::to_string(port);
}

std::string ListenAddress(const Site& site, const Life& life) {
  return life.address.empty() ? AddressAt(site.host, site.port) : life.address;
}

void AllowPlaintext(const Site& site, process::ChildSpec* spec) {
  if (site.plaintext_to_others) spec->arguments.push_back("--insecure-listen-any");
}

// Sets the number of threads as environment variables, because the math libraries read them when they are loaded.
void SetMathThreads(const job::DistTraining& job, process::ChildSpec* spec) {
  const std::string threads = std::to_string(job.trainer_threads);
  spec->environment["OMP_NUM_THREADS"] = threads;
  spec->environment["MKL_NUM_THREADS"] = threads;
}

}  // namespace

process::ChildSpec PartitionerCommand(const Site& site, const RoleOptions& options, const std::string& partitions_uri,
                                      const PartitionerPeers& peers) {
  const std::string name = ToString(ChildId{Role::kPartitioner, peers.rank});
  process::ChildSpec spec = MakeCommand(site, "espalier-partitioner", name);
  // --skip-start-files: run.cc decides whether to check the files that trainers read when they start.
  spec.arguments = {
      "--job",        site.paths.JobFile(),       "--output", partitions_uri,      "--admin-listen", kAnyPort,
      "--ready-file", site.paths.ReadyFile(name), "--json",   "--skip-start-files"};
  if (options.has_program()) spec.arguments.push_back("--trained-by-program");
  const int threads = site.partitioner_threads > 0 ? site.partitioner_threads : peers.threads;
  if (threads > 0) Append(&spec.arguments, {"--threads", std::to_string(threads)});
  if (peers.size > 1) {
    Append(&spec.arguments,
           {"--rank", std::to_string(peers.rank), "--world-size", std::to_string(peers.size), "--group", peers.group});
  }
  // The caller itself may be a partitioner of another group.
  for (const char* variable :
       {"ESPALIER_PARTITIONER_RANK", "ESPALIER_PARTITIONER_WORLD_SIZE", "ESPALIER_PARTITIONER_GROUP"}) {
    spec.environment[variable] = "";
  }
  spec.output_path = site.paths.OutputFile(name);
  return spec;
}

process::ChildSpec ServerCommand(const Site& site, const job::DistTraining& job, uint32_t server, const Life& life) {
  const std::string name = ToString(ChildId{Role::kServer, server});
  process::ChildSpec spec = MakeCommand(site, "espalier-graph-server", name);
  spec.arguments = {"--partitions",   site.partitions_uri,
                    "--partition",    std::to_string(NumberServers(job).PartitionFor(server)),
                    "--listen",       ListenAddress(site, life),
                    "--admin-listen", kAnyPort,
                    "--ready-file",   site.paths.ReadyFile(name),
                    "--job-name",     job.name,
                    "--incarnation",  std::to_string(life.incarnation),
                    "--threads",      std::to_string(site.server_threads)};
  for (const job::ServerPlugin& plugin : job.server_plugins) {
    Append(&spec.arguments, {"--plugin", plugin.name + "=" + PluginPath(plugin.path, site.working_folder)});
  }
  // Not inherited from the caller's environment.
  spec.environment["ESPALIER_PLUGINS"] = "";
  AllowPlaintext(site, &spec);
  return spec;
}

process::ChildSpec SamplerCommand(const Site& site, const RoleOptions& options, const job::DistTraining& job,
                                  uint32_t index, const std::vector<std::string>& servers, const Life& life) {
  const std::string name = ToString(ChildId{Role::kSampler, index});
  process::ChildSpec spec = MakeCommand(site, "espalier-sampler", name);
  spec.arguments = {"--job",          site.paths.JobFile(),
                    "--servers",      absl::StrJoin(servers, ","),
                    "--listen",       ListenAddress(site, life),
                    "--admin-listen", kAnyPort,
                    "--ready-file",   site.paths.ReadyFile(name),
                    "--access",       options.access,
                    "--job-name",     job.name,
                    "--incarnation",  std::to_string(life.incarnation)};
  AllowPlaintext(site, &spec);
  return spec;
}

process::ChildSpec TrainerCommand(const Site& site, const RoleOptions& options, const job::DistTraining& job,
                                  uint32_t rank, const TrainerPeers& peers, uint64_t incarnation) {
  const std::string name = ToString(ChildId{Role::kTrainer, rank});
  process::ChildSpec spec = MakeCommand(site, "espalier-trainer", name);
  spec.arguments = {"--job",          site.paths.JobFile(),
                    "--servers",      absl::StrJoin(peers.servers, ","),
                    "--rank",         std::to_string(rank),
                    "--world-size",   std::to_string(job.trainer_replicas),
                    "--ready-file",   site.paths.ReadyFile(name),
                    "--output",       job.output_uri,
                    "--checkpoints",  job.output_uri + "/checkpoints",
                    "--resume",       "auto",
                    "--admin-listen", kAnyPort,
                    "--access",       options.access,
                    "--job-name",     job.name,
                    "--incarnation",  std::to_string(incarnation)};
  if (!peers.samplers.empty()) Append(&spec.arguments, {"--samplers", absl::StrJoin(peers.samplers, ",")});
  if (job.trainer_replicas > 1) {
    Append(&spec.arguments, {"--rendezvous", rank == 0 ? AddressAt(site.host, 0) : peers.rendezvous});
    if (!site.is_loopback()) Append(&spec.arguments, {"--local-address", site.host});
    AllowPlaintext(site, &spec);
  }
  if (options.audit) Append(&spec.arguments, {"--audit", site.paths.AuditFile(name)});
  SetMathThreads(job, &spec);
  // Not inherited from the caller's environment, which may be that of a trainer.
  for (const char* variable : {"ESPALIER_LOCAL_ADDRESS", "ESPALIER_PARTITIONS", "ESPALIER_POD_INDEX",
                               "ESPALIER_RING_LISTEN", "ESPALIER_SAMPLERS", "ESPALIER_SHARED_ROW_FILE",
                               "ESPALIER_SHARED_ROW_MEMORY", "ESPALIER_TRAINERS_PER_POD", "ESPALIER_TRAINER_IN_POD"}) {
    spec.environment[variable] = "";
  }
  return spec;
}

process::ChildSpec ProgramCommand(const Site& site, const RoleOptions& options, const job::DistTraining& job,
                                  uint32_t rank, const TrainerPeers& peers, const ProgramLife& life) {
  const std::string name = ToString(ChildId{Role::kTrainer, rank});
  process::ChildSpec spec = MakeCommand(site, "", name);
  spec.program = options.program.front();
  spec.arguments.assign(options.program.begin() + 1, options.program.end());
  spec.folder = site.working_folder;
  const Result<HostPort> rendezvous = ParseHostPort(peers.rendezvous);
  ESPALIER_CHECK(rendezvous.ok()) << rendezvous.status().message();
  // An empty value counts as not set and hides a variable of the caller's environment.
  spec.environment.merge(
      std::map<std::string, std::string>{{"ESPALIER_JOB", site.paths.JobFile()},
                                         {"ESPALIER_SERVERS", absl::StrJoin(peers.servers, ",")},
                                         {"ESPALIER_PARTITIONS", ""},
                                         {"ESPALIER_PARTITION_KEY", life.partition_key},
                                         {"ESPALIER_SAMPLERS", absl::StrJoin(peers.samplers, ",")},
                                         {"ESPALIER_RANK", std::to_string(rank)},
                                         {"ESPALIER_WORLD_SIZE", std::to_string(job.trainer_replicas)},
                                         {"ESPALIER_INCARNATION", std::to_string(life.incarnation)},
                                         {"ESPALIER_JOB_NAME", job.name},
                                         {"ESPALIER_ACCESS", options.access},
                                         {"ESPALIER_LOCAL_ADDRESS", site.host},
                                         {"ESPALIER_INSECURE_LISTEN_ANY", site.plaintext_to_others ? "true" : ""},
                                         {"ESPALIER_OUTPUT", job.output_uri},
                                         {"ESPALIER_RESUME", life.resumes ? "auto" : "never"},
                                         // Read by torch.distributed.init_process_group.
                                         {"RANK", std::to_string(rank)},
                                         {"WORLD_SIZE", std::to_string(job.trainer_replicas)},
                                         {"LOCAL_RANK", std::to_string(site.local_rank)},
                                         {"MASTER_ADDR", rendezvous->host},
                                         {"MASTER_PORT", std::to_string(rendezvous->port)}});
  SetMathThreads(job, &spec);
  return spec;
}

}  // namespace espalier::run
