// `espalier launch`: a whole job on the machines of a hosts file, over ssh; `espalier copy`: what they need, onto them.
//
//   launcher ── ssh ── espalier host (host_agent.h) ── graph server, sampler, trainer
//
// A launch is a run (run/run.h: folder, recovery, results, exit codes) whose processes are on hosts (host_fleet.h).
// Guarantees beyond a run's: where the launcher or its connection dies, each host ends its processes by itself,
// trainers by way of a checkpoint; a host that is lost ends the launch, which --resume takes up.
#pragma once

#include <string>
#include <vector>

#include "services/runner/launch/host_fleet.h"
#include "services/runner/launch/host_session.h"
#include "services/runner/run/run.h"

namespace espalier::launch {

struct ConnectOptions {
  std::string hosts_file;
  SessionOptions session;
  std::chrono::seconds patience{60};  // from the first ssh to the last host's word
};

struct LaunchOptions {
  ConnectOptions connect;
  run::RunOptions run;
  HostFleetOptions fleet;            // workspace empty: the output folder's path
  std::vector<std::string> folders;  // of the user, to be copied to each host
  // For each host; 0: as the document says. They set servers (graph.partitions.count), samplers and trainers.replicas.
  uint32_t servers_per_host = 0, samplers_per_host = 0, trainers_per_host = 0;
};
run::RunOutcome Launch(LaunchOptions options, terminal::Progress& progress);

struct CopyOptions {
  ConnectOptions connect;
  std::string workspace;   // absolute, on each host
  std::string partitions;  // folder with manifest.json here; empty: none
  uint32_t replicas = 1;   // spec.servers.replicasPerPartition of the jobs that use them
  std::vector<std::string> folders;
};
// The code and what to print, as of a run.
run::RunOutcome Copy(const CopyOptions& options, terminal::Progress& progress);

}  // namespace espalier::launch
