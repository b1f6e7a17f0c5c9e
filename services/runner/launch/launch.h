// `espalier launch`: runs a job on the machines of a hosts file over ssh. `espalier copy`: copies partitions and
// folders to them.
//
//   launcher ── ssh ── espalier host (host_agent.h) ── graph server, sampler, trainer
//
// A launch is a run (run/run.h: folder, recovery, results, exit codes) whose processes are on hosts (host_fleet.h).
// Guarantees beyond those of a run: if the launcher dies or a connection breaks, each host ends its processes on its
// own, and trainers save a checkpoint. If a host is lost, the launch ends, and --resume continues it.
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
  std::chrono::seconds patience{60};  // time limit for connecting to all hosts
};

struct LaunchOptions {
  ConnectOptions connect;
  run::RunOptions run;
  HostFleetOptions fleet;            // empty fleet.workspace: the path of the output folder is used
  std::vector<std::string> folders;  // the user's folders to copy to each host
  // Numbers per host. Multiplied by the number of hosts, they override graph.partitions.count, samplers.replicas and
  // trainers.replicas; 0: as in the document.
  uint32_t servers_per_host = 0, samplers_per_host = 0, trainers_per_host = 0;
};
// Runs the job on the hosts. Blocks until the run has ended.
run::RunOutcome Launch(LaunchOptions options, terminal::Progress& progress);

struct CopyOptions {
  ConnectOptions connect;
  std::string workspace;             // absolute, on each host
  std::string partitions;            // local folder with manifest.json; empty: copy no partitions
  uint32_t replicas = 1;             // spec.servers.replicasPerPartition of the jobs that will use the partitions
  std::vector<std::string> folders;  // the user's folders to copy to each host
};
// Copies the partitions and folders to the hosts. The outcome has no result_json.
run::RunOutcome Copy(const CopyOptions& options, terminal::Progress& progress);

}  // namespace espalier::launch
