// The main loop of a run, from the start of the partitioners to the end of the trainers. Executes the actions of the
// recovery plan (recovery_plan.h), reports events to it, and displays the progress.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "services/runner/run/child_environment.h"
#include "services/runner/run/commands.h"
#include "services/runner/run/fleet.h"
#include "services/runner/run/job_file.h"
#include "services/runner/run/partitioner_group.h"
#include "services/runner/run/recovery_plan.h"
#include "services/runner/run/result_file.h"
#include "services/runner/run/run.h"
#include "services/runner/run/run_state.h"
#include "services/runner/run/store_probe.h"
#include "services/runner/run/tls_files.h"
#include "services/storage/open_store.h"
#include "services/terminal/progress.h"

namespace espalier::run {

// Exit code and message of a run that ended early.
struct Stop {
  ExitCode code;
  std::string message;
};

// The options and objects of a run. All referenced objects must outlive the RunInProgress.
struct RunContext {
  const RunOptions& options;
  const RunFolder& folder;
  const RunJob& job;
  const storage::StoreLocation& prefix;               // the job's output.uri
  const storage::StoreLocation& prefix_for_messages;  // the same with short timeouts, to read what only messages need
  const StoreProbe& stores;                           // with short timeouts
  std::chrono::seconds store_patience;                // how long the job's processes retry requests to stores
  terminal::Progress& progress;
  const TlsFiles* tls;  // null: plaintext
  Fleet& fleet;
};

// Not thread-safe.
class RunInProgress {
 public:
  // `first_incarnation` is greater than every earlier incarnation of the folder. `reason` says why the incarnation
  // begins (RunState::reason).
  RunInProgress(const RunContext& context, uint64_t first_incarnation, std::string reason);

  // Blocks until the run ends. Returns nullopt if every trainer succeeded, otherwise the reason. Leaves children
  // running.
  std::optional<Stop> Run();
  // Ends all children. Returns the names of those that had to be killed because they did not end within the grace
  // period.
  std::vector<std::string> StopChildren();

  // Call after StopChildren. Returns whether every trainer was started and exited with 0.
  bool AllTrainersSucceeded();

  const RunFacts& facts() const { return facts_; }
  // Shows the warnings in `json`, a result or a process's status, that have not been shown before. Accepts untrusted
  // input.
  void ShowWarnings(const std::string& json);
  // Records in the state file that the run succeeded. Call this after the outputs are committed and published.
  Status WriteSucceeded();

 private:
  std::optional<Stop> Report(const FleetEvents& events);
  void RecordReady(const ChildReady& event);
  std::optional<Stop> Do(const action::Start& start);
  std::optional<Stop> Do(const action::BeginIncarnation& begin);
  std::optional<Stop> Do(const action::Signal& signal);
  std::optional<Stop> Do(const action::Recovering& recovering);
  std::optional<Stop> Do(const action::ProbeStores& probe);
  std::optional<Stop> Do(const action::Succeed& succeed);
  std::optional<Stop> Do(const action::GiveUp& give_up);
  std::optional<Stop> Do(const action::GiveUpOnStores& give_up);

  std::optional<Stop> WriteState() const;
  std::optional<Stop> CheckDeadlines() const;
  std::optional<Stop> ReadPartitionerReport();
  std::optional<Stop> ProvidePartitions();
  process::ChildSpec MakeCommand(ChildId child, const Site& site) const;
  Life MakeLife(ChildId child) const;
  void BeginPhase(ChildId child);
  std::string FindReason(ChildId child) const;
  std::string FailureText(const Failure& failure) const;
  std::string TrainersPhase() const;
  std::string DescribeActivity() const;
  void ShowProgress();
  void ShowPartitioning();
  void WritePids();
  std::chrono::milliseconds TimeToSleep() const;

  const RunContext context_;
  std::optional<Deadline> deadline_;  // of the whole run (activeDeadlineSeconds)
  RecoveryPlan plan_;
  PartitionerGroup partitioners_;
  RunState state_;
  RunFacts facts_;
  std::vector<std::string> servers_;  // addresses by server number
  TrainerPeers peers_;
  std::map<ChildId, std::string> addresses_;  // of servers and samplers that were ready; restarts reuse them
  std::map<ChildId, int> starts_;             // number of times that each child was started
  std::optional<Role> latest_start_;
  bool rank0_is_ready_ = false;
  Status stores_;  // result of the last probe
  std::string phase_;
  Timer phase_timer_;
  std::optional<SteadyTime> last_shown_;
  bool succeeded_ = false;
  std::set<std::string> shown_warnings_;
};

}  // namespace espalier::run
