// The reconciler of DistTrainings: observes, plans and applies, with caches, a work queue and an API client.
//
// One reconcile of a job: read the caches, send GET requests for objects that no cache contains (observe.h), make a
// plan (operator/plan, a pure function), carry out the plan (apply.h). After a failure the reconcile is retried from
// the beginning. Some responses are kept for later reconciles, to save requests (job_memory.h).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "operator/client/api_client.h"
#include "operator/controller/caches.h"
#include "operator/controller/pod_policy.h"
#include "operator/controller/progress.h"
#include "operator/plan/plan.h"
#include "operator/runtime/workers.h"

namespace espalier::ctl::controller {

struct ControllerOptions {
  std::string name_space;  // "": all
  plan::Defaults defaults;
  PodPolicy pod_policy;
  int num_workers = 4;
  // Each watch lasts a random time between these two; `seed` is the seed of the random numbers.
  std::chrono::seconds min_watch{45};
  std::chrono::seconds max_watch{75};
  bool kueue = false;            // manage the Workloads of jobs that have a queue of Kueue
  bool gang_scheduling = false;  // make PodGroups if the API server serves them
  bool poll_progress = true;     // poll trainers and write status.progress (progress.h)
  uint64_t seed = 0;
  std::function<kube::WallTime()> wall_clock;  // unset: the system's
  ProgressPoller::Fetch fetch_status;          // unset: FetchStatus
};

// Thread-safe. The arguments passed by reference must outlive it.
class Controller {
 public:
  Controller(client::ApiClient& client, runtime::EventRecorder& events, ControllerOptions options,
             telemetry::MetricRegistry& metrics, Clock& clock = Clock::Real());
  ~Controller();

  void StartCaches();
  // Blocks until all caches are filled, except those of kinds that a cluster may lack (Informers::WaitForSync). If some
  // are not filled by `deadline`, returns DeadlineExceeded, which names their kinds.
  Status WaitForCaches(Deadline deadline);
  // Starts the reconciles and the progress polls. Must be called only when this process is the leader.
  void StartWorkers();
  // Starts no new reconciles and waits for those in progress. Returns false if one of them has not ended by the
  // deadline. The caller may then stop the client, so that Stop does not wait for responses.
  bool Drain(Deadline deadline);
  // Drains, then stops the progress poller and the caches. Returns the result of Drain.
  bool Stop(Deadline deadline);
  // Runs one reconcile, as a worker does. For tests.
  runtime::ReconcileOutcome Reconcile(const kube::ObjectKey& key);
  // Returns the caches. For tests that wait for a change, and for /status.
  const Caches& caches() const;
  // Polls the trainers once, as the poller does every 10 s. For tests.
  void PollProgressOnce();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace espalier::ctl::controller
