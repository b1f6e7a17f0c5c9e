// The fleet of `espalier launch`: processes on H hosts that are reached by ssh.
//
//   process                      host
//   partitioner 0                this machine
//   partitioner r > 0            r mod H; this machine if the graph, the assignment or the partitions are local paths
//   server of partition p        (p + k) mod H for all processes of replica k = 0, 1, ... (server_numbering.h)
//   sampler i, trainer r         i mod H, r mod H
//
// If the number of trainers is a multiple of H, the partitions whose seeds a trainer prefers
// (docs/sampling.md) are on the trainer's host.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "services/runner/launch/host_session.h"
#include "services/runner/run/fleet.h"
#include "services/runner/run/job_file.h"
#include "services/runner/run/local_fleet.h"
#include "services/runner/run/server_numbering.h"
#include "services/runner/run/tls_files.h"
#include "services/terminal/progress.h"

namespace espalier::launch {

enum class LogLines { kWarnings, kAll };  // kWarnings: lines of level WARN or ERROR

struct HostFleetOptions {
  std::string workspace;                // folder on each host; the run's files of host h are in WORKSPACE/hosts/h
  std::chrono::seconds lost_after{60};  // a host or the launcher is considered lost after this time without a message
  std::chrono::milliseconds stop_grace{15000};
  std::map<std::string, std::string> environment;  // additional variables of every process on a host
  unsigned server_threads = 0;                     // of each graph server; 0: its share of the host's processors
  LogLines log_lines = LogLines::kWarnings;        // which log lines to display; the log files contain all
  bool copy_partitions = false;                    // copy to each host the partitions that it serves
};

// Not thread-safe.
class HostFleet final : public run::Fleet {
 public:
  // `sessions` are those of all hosts, in the order of the hosts file; AwaitHello of each has succeeded. `folder`,
  // `job` and `progress` must outlive this object. `this_machine` is the site of processes on this machine.
  HostFleet(std::vector<std::unique_ptr<HostSession>> sessions, HostFleetOptions options, run::Site this_machine,
            const run::RunFolder& folder, const run::RunJob& job, terminal::Progress& progress);
  // Closes the sessions: each host ends the processes that still run there. Blocks until they have ended, at most for
  // the grace period plus 30 s.
  ~HostFleet() override;

  // Creates the run's folder on each host, with the document and, unless `tls` is null, the certificates of the roles
  // that run there. Call this once, before the other functions. FailedPrecondition if the host of trainer 0 cannot
  // access the output folder and the outputs are not in a bucket; NotFound if a host lacks a role binary;
  // InvalidArgument if a host's graph servers need ports above 65535.
  Status Begin(const run::TlsFiles* tls);

  run::Site GetSite(run::ChildId child) const override;
  Status ProvidePartitions(const std::string& uri, std::optional<Deadline> deadline) override;
  Status Start(run::ChildId child, const process::ChildSpec& spec, const std::string& ready_path) override;
  run::FleetEvents Poll() override;
  void WaitForEvent(std::chrono::milliseconds longest) override;
  void Signal(run::ChildId child, int signal_number) override;
  std::optional<Awaited> LongestAwaited() const override;
  std::map<run::ChildId, pid_t> Pids() const override;
  std::vector<run::ChildId> Running() override;
  std::optional<process::ExitState> ExitState(run::ChildId child) override;
  Result<std::string> FetchStatus(run::ChildId child) override;

 private:
  struct Member {
    int64_t life = 0;  // number of this start, unique in the run
    SteadyTime started;
    bool is_ready = false;
    pid_t pid = 0;  // on its host; 0: no ready file has reported it
    std::optional<process::ExitState> exit;
  };

  // Returns whether the child runs on this machine instead of a host.
  bool RunsLocally(run::ChildId child) const;
  int CountPartitionersOn(size_t host) const;
  size_t FindHost(run::ChildId child) const;
  std::string HostFolder(size_t host) const { return options_.workspace + "/hosts/" + std::to_string(host); }
  std::vector<run::Role> RolesOn(size_t host) const;
  uint32_t CountServersOn(size_t host) const { return CountServersOn(host, run::NumberServers(job_.training).count()); }
  uint32_t CountServersOn(size_t host, uint32_t below) const;  // counts only servers with a number < below
  Status BeginOn(size_t host, const run::TlsFiles* tls, const std::string& token);
  std::vector<HostSession*> Hosts() const;
  std::chrono::milliseconds PingInterval() const {
    return std::min<std::chrono::milliseconds>(kPingInterval, options_.lost_after / 3);
  }
  Heartbeat MakeHeartbeat(std::optional<Deadline> deadline = std::nullopt) const;
  Result<bool> CanReadFile(HostSession& session, const std::string& path, Heartbeat& heartbeat);
  Status ProcessMessages();
  Status ReceiveFrom(size_t host);
  Status HandleFailure(size_t host, const Message& message);
  Status HandleMessage(size_t host, const Message& message);
  Status HandleEnd(run::ChildId child, Member& member, const Message& message);
  Status HandleLog(size_t host, run::ChildId child, const std::string& text);
  void ShowLine(size_t host, run::ChildId child, const std::string& line);

  std::vector<std::unique_ptr<HostSession>> sessions_;
  std::vector<SilenceTimer> silences_;      // one per session
  std::vector<uint16_t> rendezvous_ports_;  // one port per host, which was free at Begin
  const HostFleetOptions options_;
  const run::RunFolder& folder_;
  const run::RunJob& job_;
  terminal::Progress& progress_;
  const telemetry::StopSignal& stop_;
  std::string partitions_uri_;  // set by ProvidePartitions: where the hosts read the partitions
  std::map<run::ChildId, Member> members_;
  std::map<run::ChildId, std::string> partial_lines_;  // incomplete last line of each log
  std::string rank0_status_;                           // latest status of trainer 0; empty if there is none
  run::FleetEvents events_;                            // returned by the next Poll
  SteadyTime pinged_at_;
  int64_t lives_ = 0;  // number of starts so far
  run::LocalFleet local_;
};

}  // namespace espalier::launch
