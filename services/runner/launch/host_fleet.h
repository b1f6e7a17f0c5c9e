// The processes of a run on hosts reached by ssh. Partitioner 0 runs on this machine, whose paths the document names,
// and partitioner r on host r mod H, or here where it names any path for them. Partition p is served by host p mod H,
// its replica k by host p + k mod H, each with all its processes, which share the mapped files. Trainer r and sampler i
// run on hosts r and i mod H: a trainer's own partitions (docs/sampling.md) are on its host wherever there are as many
// partitions and trainers as hosts, or a multiple of both.
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

enum class LogLines { kWarnings, kAll };

struct HostFleetOptions {
  std::string workspace;          // folder on each host; the run's files of host h lie in WORKSPACE/hosts/h
  std::chrono::seconds lost{60};  // a host ends its processes when it has not heard from here for so long
  std::chrono::milliseconds stop_grace{15000};
  std::map<std::string, std::string> environment;  // of every process on a host
  unsigned server_threads = 0;                     // of each graph server; 0: its share of the host's processors
  LogLines log_lines = LogLines::kWarnings;        // that are shown; all are kept
  bool copy_partitions = false;                    // to each host, those that it serves
};

// Owned by one thread.
class HostFleet final : public run::Fleet {
 public:
  // All outlive this but the sessions and options.
  HostFleet(std::vector<std::unique_ptr<HostSession>> sessions, HostFleetOptions options, run::Site this_machine,
            const run::RunFolder& folder, const run::RunJob& job, terminal::Progress& progress);
  // Hosts are left: each ends what still runs there.
  ~HostFleet() override;

  // Makes the hosts' folders, with the document and, where `tls` is not null, the certificates of their roles.
  // FailedPrecondition where trainer 0's host cannot see the folder that outputs go to.
  Status Begin(const run::TlsFiles* tls);

  run::Site GetSite(run::ChildId child) const override;
  Status BringPartitions(const std::string& uri, std::optional<Deadline> deadline) override;
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
    int64_t life = 0;
    SteadyTime started;
    bool is_ready = false;
    pid_t pid = 0;  // on its host
    std::optional<process::ExitState> exit;
  };

  // On this machine, not on a host.
  bool IsHere(run::ChildId child) const;
  int PartitionersOn(size_t host) const;
  size_t FindHost(run::ChildId child) const;
  std::string HostFolder(size_t host) const { return options_.workspace + "/hosts/" + std::to_string(host); }
  std::vector<run::Role> RolesOn(size_t host) const;
  uint32_t ServersOn(size_t host) const { return ServersOn(host, run::NumberServers(job_.training).count()); }
  uint32_t ServersOn(size_t host, uint32_t below) const;  // of those whose number is below that
  Status BeginOn(size_t host, const run::TlsFiles* tls, const std::string& token);
  std::vector<HostSession*> Hosts() const;
  std::chrono::milliseconds PingPause() const {
    return std::min<std::chrono::milliseconds>(kPingPause, options_.lost / 3);
  }
  Heartbeat MakeHeartbeat(std::optional<Deadline> deadline = std::nullopt) const;
  Result<bool> Sees(HostSession& session, const std::string& path, Heartbeat& heartbeat);
  Status Pump();
  Status Listen(size_t host);
  Status TakeFailure(size_t host, const Message& message);
  Status Take(size_t host, const Message& message);
  Status TakeEnd(run::ChildId child, Member& member, const Message& message);
  Status TakeLog(size_t host, run::ChildId child, const std::string& text);
  void ShowLine(size_t host, run::ChildId child, const std::string& line);

  std::vector<std::unique_ptr<HostSession>> sessions_;
  std::vector<Silence> silences_;           // of each session
  std::vector<uint16_t> rendezvous_ports_;  // of each host, free when it began
  const HostFleetOptions options_;
  const run::RunFolder& folder_;
  const run::RunJob& job_;
  terminal::Progress& progress_;
  const telemetry::StopSignal& stop_;
  std::string partitions_uri_;
  std::map<run::ChildId, Member> members_;
  std::map<run::ChildId, std::string> lines_begun_;  // of logs
  std::string rank0_status_;
  run::FleetEvents events_;  // that Poll returns next
  SteadyTime pinged_;
  int64_t lives_ = 0;
  run::LocalFleet local_;
};

}  // namespace espalier::launch
