// One run, from the partitioner's start to the trainers' end: carries out what the plan says (recovery_plan.h) and
// tells it, and whoever looks on, what happened.
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

// Why a run ended early.
struct Stop {
  ExitCode code;
  std::string message;
};

// All of it outlives the run.
struct RunContext {
  const RunOptions& options;
  const RunFolder& folder;
  const RunJob& job;
  const storage::StoreLocation& prefix;            // of the job
  const storage::StoreLocation& prefix_for_words;  // the same; a store out of reach says so within seconds
  const StoreProbe& stores;                        // likewise
  std::chrono::seconds store_patience;             // of the job's processes
  terminal::Progress& progress;
  const TlsFiles* tls;  // null: plaintext
  Fleet& fleet;
};

// Owned by one thread.
class RunInProgress {
 public:
  // `first_incarnation` is newer than any of this folder before; `reason` says why it begins.
  RunInProgress(const RunContext& context, uint64_t first_incarnation, std::string reason);

  // nullopt: every trainer ended well.
  std::optional<Stop> Run();
  // Ends every child. The names of those that had to be killed.
  std::vector<std::string> StopChildren();

  // After StopChildren: whether every trainer was started, and ended with 0.
  bool TrainersEndedWell();

  const RunFacts& facts() const { return facts_; }
  // Shows the warnings of a result, or of a process's status, that have not been shown before. `json` is untrusted.
  void ShowWarnings(const std::string& json);
  // To be written once the outputs are committed and in their place.
  Status WriteSucceeded();

 private:
  std::optional<Stop> Report(const FleetEvents& events);
  void TakeReady(const ChildReady& event);
  std::optional<Stop> Do(const action::Start& start);
  std::optional<Stop> Do(const action::BeginIncarnation& begin);
  std::optional<Stop> Do(const action::Signal& signal);
  std::optional<Stop> Do(const action::Recovering& recovering);
  std::optional<Stop> Do(const action::LookAtStores& look);
  std::optional<Stop> Do(const action::Succeed& succeed);
  std::optional<Stop> Do(const action::GiveUp& give_up);
  std::optional<Stop> Do(const action::GiveUpOnStores& give_up);

  std::optional<Stop> WriteStateAhead() const;
  std::optional<Stop> CheckDeadlines() const;
  std::optional<Stop> ReadPartitionerAnswer();
  std::optional<Stop> BringPartitions();
  process::ChildSpec MakeCommand(ChildId child, const Site& site) const;
  Life FindLife(ChildId child) const;
  void BeginPhase(ChildId child);
  std::string FindReason(ChildId child) const;
  std::string FailureText(const Failure& failure) const;
  std::string TrainersPhase() const;
  std::string Doing() const;
  void Show();
  void ShowPartitioning();
  void NotePids();
  std::chrono::milliseconds TimeToSleep() const;

  const RunContext context_;
  std::optional<Deadline> deadline_;  // of the whole run
  RecoveryPlan plan_;
  PartitionerGroup partitioners_;
  RunState state_;
  RunFacts facts_;
  std::vector<std::string> servers_;  // addresses by number
  TrainerPeers peers_;
  std::map<ChildId, std::string> addresses_;  // that a child had when it was ready first
  std::map<ChildId, int> starts_;
  std::optional<Role> latest_start_;
  bool rank0_is_ready_ = false;
  Status stores_;  // as the last look found them
  std::string phase_;
  Timer phase_timer_;
  std::optional<SteadyTime> last_shown_;
  bool succeeded_ = false;
  std::set<std::string> shown_warnings_;
};

}  // namespace espalier::run
