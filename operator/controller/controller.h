// Observe, plan, apply: the reconciler of DistTrainings over caches, queue and client.
//
// A round of a job: the caches as values (observe.h), what they lack by GET, a plan (operator/plan, pure), the plan
// done (apply.h). Whatever fails is tried again from the beginning; nothing is carried over but what costs a request to
// learn (job_memory.h).
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
  std::chrono::seconds min_watch{45};
  std::chrono::seconds max_watch{75};
  bool poll_progress = true;
  uint64_t seed = 0;
  std::function<kube::WallTime()> wall_clock;  // unset: the system's
  ProgressPoller::Fetch fetch_status;          // unset: FetchStatus
};

// Thread-safe. What is given outlives it.
class Controller {
 public:
  Controller(client::ApiClient& client, runtime::EventRecorder& events, ControllerOptions options,
             telemetry::MetricRegistry& metrics, Clock& clock = Clock::Real());
  ~Controller();

  void StartCaches();
  // DeadlineExceeded where the caches have not been filled by then: names the kinds.
  Status WaitForCaches(Deadline deadline);
  void StartWorkers();  // once this process leads
  // Begins no round any more; false where one that is under way did not end by the deadline. The client may be stopped
  // then, so that Stop need not wait for its answers.
  bool Drain(Deadline deadline);
  bool Stop(Deadline deadline);  // drains, then ends the caches and what asks trainers
  // One reconcile, as a worker does it: for tests.
  runtime::ReconcileOutcome Reconcile(const kube::ObjectKey& key);
  // What has been seen: for tests, which wait for it, and for /status.
  const Caches& caches() const;
  // Asks the trainers once, as the poller does every 10 s: for tests.
  void PollProgressOnce();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace espalier::ctl::controller
