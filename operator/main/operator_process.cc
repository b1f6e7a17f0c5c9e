// Three API clients share one transport. The client for the lease has no rate limit. The client for reconciles is
// stopped after SIGTERM. The client for events still writes the last events after that. Reconciles and events go
// through LeaderTransport. After SIGTERM the lease is released only if all reconciles have ended; otherwise it is left
// to expire, because this process might still write.
#include "operator/main/operator_process.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <memory>
#include <random>

#include "operator/client/api_client.h"
#include "operator/controller/controller.h"
#include "operator/main/leader_transport.h"
#include "operator/runtime/event_recorder.h"
#include "operator/runtime/leader_election.h"
#include "services/telemetry/log.h"

namespace espalier::ctl::process {
namespace {

using telemetry::Level;
using telemetry::Log;

// How often a wait checks whether a stop was requested.
constexpr std::chrono::milliseconds kPollInterval{100};
constexpr std::chrono::seconds kLastEventsTimeout{3};  // for writing the last events after SIGTERM
// The limit for work that has already been cancelled.
constexpr std::chrono::seconds kStopTimeout{1};
constexpr std::chrono::seconds kLivenessGrace{5};

client::ApiClientOptions MakeClientOptions(const OperatorFlags& flags) {
  client::ApiClientOptions options;
  options.qps = flags.qps;
  options.burst = flags.burst;
  return options;
}

runtime::LeaderElectionOptions MakeElectionOptions(const OperatorFlags& flags, const OperatorContext& context) {
  runtime::LeaderElectionOptions options;
  options.lease = {context.lease_namespace, flags.lease_name};
  options.identity = context.identity;
  options.lease_duration = std::chrono::seconds(flags.lease_seconds);
  options.renew_deadline = std::chrono::seconds(flags.lease_renew_seconds);
  options.retry_period = std::chrono::seconds(flags.lease_retry_seconds);
  return options;
}

// Events have their own client with its own rate limit, because the last events are written after SIGTERM, when the
// client for reconciles is stopped. The timeout keeps these events from delaying the end of the process.
client::ApiClientOptions MakeEventClientOptions(const OperatorFlags& flags) {
  client::ApiClientOptions options = MakeClientOptions(flags);
  options.call_timeout = kLastEventsTimeout;
  return options;
}

// Lease requests have no rate limit.
client::ApiClientOptions MakeLeaseClientOptions(const OperatorFlags& flags, const OperatorContext& context) {
  client::ApiClientOptions options;
  options.qps = 0;
  options.call_timeout = runtime::LeaseCallTimeout(MakeElectionOptions(flags, context));
  return options;
}

controller::ControllerOptions MakeControllerOptions(const OperatorFlags& flags, const OperatorContext& context) {
  controller::ControllerOptions options;
  options.name_space = context.watched_namespace;
  options.defaults = {.core_image = flags.core_image,
                      .trainer_image = flags.trainer_image,
                      .trainer_cuda_image = flags.trainer_cuda_image,
                      .cluster_domain = flags.cluster_domain,
                      .image_pull = {flags.image_pull_policy, flags.image_pull_secrets},
                      .gpu_resource = flags.gpu_resource,
                      .job_defaults = context.job_defaults};
  options.pod_policy = MakePodPolicy(flags);
  options.kueue = flags.kueue;
  options.gang_scheduling = flags.gang_scheduling;
  options.num_workers = flags.workers;
  options.seed = std::hash<std::string>()(context.identity);
  return options;
}

class Operator {
 public:
  Operator(const OperatorFlags& flags, const OperatorContext& context)
      : flags_(flags),
        context_(context),
        client_metrics_(context.metrics),
        lease_client_(context.transport, MakeLeaseClientOptions(flags, context), client_metrics_),
        transport_(context.transport, [this] { return !elector_ || elector_->is_leader(); }),
        client_(transport_, MakeClientOptions(flags), client_metrics_),
        event_client_(transport_, MakeEventClientOptions(flags), client_metrics_),
        events_(event_client_, "espalier.io/operator", context.identity, context.metrics),
        controller_(client_, events_, MakeControllerOptions(flags, context), context.metrics) {
    if (flags.leader_elect) {
      elector_ = std::make_unique<runtime::LeaderElector>(lease_client_, MakeElectionOptions(flags, context),
                                                          context.lease_lost, context.metrics);
    }
    context.admin.SetLivenessCheck([this] { return LivenessError(); });
    context.admin.SetStatusProvider([this] { return StatusJson(); });
  }

  ~Operator() {
    context_.admin.SetLivenessCheck(nullptr);
    context_.admin.SetStatusProvider(nullptr);
  }

  Result<ExitCode> Run() {
    controller_.StartCaches();
    RETURN_IF_ERROR(FillCaches());
    context_.admin.SetReady();
    if (Lead()) {
      events_.Start();
      controller_.StartWorkers();
      Log(Level::kInfo, "reconciling", {{"workers", flags_.workers}});
    }
    context_.stop.Wait();
    return Stop();
  }

 private:
  std::string LivenessError() const {
    if (!elector_ || elector_->IsHealthy(kLivenessGrace)) return "";
    return "this process holds the lease but has not renewed it in time";
  }

  std::string StatusJson() const {
    kube::Json status = {{"identity", context_.identity},
                         {"namespace", context_.watched_namespace},
                         {"distTrainings", controller_.caches().trainings.size()},
                         {"leader", elector_ ? elector_->is_leader() : true}};
    if (elector_) status["leaseHolder"] = elector_->holder();
    return kube::Print(status);
  }

  // Returns OK also if a stop is requested meanwhile.
  Status FillCaches() {
    const Deadline deadline = Deadline::After(context_.cache_sync_timeout);
    while (true) {
      const Status filled = controller_.WaitForCaches(deadline.AtMost(kPollInterval));
      if (filled.ok() || context_.stop.requested()) return Status();
      if (deadline.HasPassed()) return filled;
    }
  }

  // Blocks until this process leads. Returns false if a stop is requested first.
  bool Lead() {
    if (context_.stop.requested()) return false;
    if (!elector_) return true;
    elector_->Start();
    Log(Level::kInfo, "waiting for the lease", {{"lease", flags_.lease_name}, {"identity", context_.identity}});
    while (!context_.stop.requested()) {
      if (elector_->WaitToLead(Deadline::After(kPollInterval))) return true;
    }
    return false;
  }

  ExitCode Stop() {
    context_.admin.SetNotReady("stopping");
    Log(Level::kInfo, "asked to stop",
        {{"signal", context_.stop.signal_number()}, {"drain_seconds", flags_.drain_seconds}});
    const bool drained = controller_.Drain(Deadline::After(std::chrono::seconds(flags_.drain_seconds)));
    // Requests still in progress, by the caches or by a slow reconcile, are no longer needed.
    client_.Stop();
    controller_.Stop(Deadline::After(kStopTimeout));
    events_.Stop(Deadline::After(kLastEventsTimeout));
    if (!drained) Log(Level::kWarning, "running reconciles did not end in time");
    if (!drained && elector_) {
      // No other process may lead while this one might still write.
      Log(Level::kWarning, "the lease is left to expire");
    } else if (elector_) {
      elector_->StopAndRelease();
    }
    Log(Level::kInfo, "stopped");
    return ExitCode::kAskedToStop;
  }

  const OperatorFlags& flags_;
  const OperatorContext& context_;
  client::ClientMetrics client_metrics_;
  client::ApiClient lease_client_;
  std::unique_ptr<runtime::LeaderElector> elector_;
  LeaderTransport transport_;  // calls elector_
  client::ApiClient client_;
  client::ApiClient event_client_;
  runtime::EventRecorder events_;
  controller::Controller controller_;
};

}  // namespace

Result<ExitCode> RunOperator(const OperatorFlags& flags, const OperatorContext& context) {
  return Operator(flags, context).Run();
}

std::string MakeIdentity(const EnvironmentMap& environment) {
  std::string name = FindValue(environment, "POD_NAME");
  if (name.empty()) {
    std::array<char, 256> host{};
    if (gethostname(host.data(), host.size() - 1) == 0) name = host.data();
  }
  std::random_device random;
  std::array<char, 17> suffix{};
  std::snprintf(suffix.data(), suffix.size(), "%08x%08x", random(), random());
  return name + "_" + suffix.data();
}

}  // namespace espalier::ctl::process
