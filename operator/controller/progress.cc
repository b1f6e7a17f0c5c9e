// A thread wakes at each interval and polls the running jobs, together with up to num_threads - 1 other threads. A poll
// is a plain HTTP request to a pod IP, which another pod may have by now, so a response counts only if it contains this
// job's uid and incarnation. A write has the cached resourceVersion as precondition, so that it does not overwrite the
// final progress (plan/final_progress.h) of a job that has succeeded meanwhile.
#include "operator/controller/progress.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <system_error>
#include <utility>

#include "operator/controller/write_progress.h"
#include "operator/resources/builders.h"
#include "operator/resources/labels.h"
#include "services/http/get.h"
#include "services/telemetry/log.h"

namespace espalier::ctl::controller {
namespace {

constexpr size_t kMaxStatusBytes = 64 << 10;

bool HasLabel(const kube::Pod& pod, const char* label, const std::string& value) {
  const auto found = pod.meta.labels.find(label);
  return found != pod.meta.labels.end() && found->second == value;
}

std::optional<double> NumberAt(const kube::Json& value, kube::JsonPath path) {
  const kube::Json* const found = kube::Find(value, path);
  if (found == nullptr || !found->is_number()) return std::nullopt;
  const double number = found->get<double>();
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

double RoundPercent(double percent) { return std::clamp(std::round(percent * 10) / 10, 0.0, 100.0); }

// Returns whether the name consists of ASCII letters and is not longer than the schema of the status allows; true for
// "". Trainers of another version may have phases that are unknown here.
bool IsPhaseName(const std::string& name) {
  return name.size() <= api::kMaxProgressPhaseBytes &&
         std::all_of(name.begin(), name.end(), [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
}

bool EqualExceptTime(api::Progress a, const api::Progress& b) {
  a.last_updated = b.last_updated;
  return a == b;
}

}  // namespace

Result<std::string> FetchStatus(const std::string& pod_ip, Deadline deadline) {
  const bool is_v6 = pod_ip.find(':') != std::string::npos;
  const std::string host = is_v6 ? "[" + pod_ip + "]" : pod_ip;
  return http::Get("http://" + host + ":" + std::to_string(resources::kAdminPort) + "/status", kMaxStatusBytes,
                   deadline);
}

Result<api::Progress> ParseProgress(std::string_view body, const TrainingRecord& training, kube::WallTime now) {
  ASSIGN_OR_RETURN(const kube::Json json, kube::ParseJson(body));
  if (kube::StringAt(json, {"uid"}) != training.meta.uid) return InvalidArgument("a status of another job");
  if (kube::IntegerAt(json, {"incarnation"}) != training.incarnation) {
    return InvalidArgument("a status of another incarnation");
  }
  const std::optional<double> percent = NumberAt(json, {"percent"});
  if (!percent) return InvalidArgument("a status without progress");  // the first step has not been taken
  api::Progress progress;
  progress.epoch = std::max<int64_t>(0, kube::IntegerAt(json, {"epoch"}).value_or(0));
  progress.percent = RoundPercent(*percent);
  if (const auto eta = NumberAt(json, {"etaSeconds"}); eta && *eta >= 0 && *eta < 1e9) {
    progress.eta_seconds = std::llround(*eta);
  }
  if (const kube::Json* const metrics = kube::Find(json, {"metrics"}))
    progress.metrics = api::MetricsFromJson(*metrics);
  progress.last_updated = now;
  if (const std::string phase = kube::StringAt(json, {"phase"}); IsPhaseName(phase)) progress.phase = phase;
  if (const auto of_phase = NumberAt(json, {"phasePercent"}); of_phase && !progress.phase.empty()) {
    progress.phase_percent = RoundPercent(*of_phase);
  }
  return progress;
}

std::shared_ptr<const kube::Pod> FindRankZero(const Caches& caches, const TrainingRecord& training) {
  for (const auto& pod : caches.pods.ByIndex(training.meta.key)) {
    if (pod->phase == kube::PodPhase::kRunning && !pod->ip.empty() && !pod->meta.deletion_requested_at &&
        HasLabel(*pod, resources::kComponentLabel, api::ToString(api::Role::kTrainer)) &&
        HasLabel(*pod, resources::kIncarnationLabel, std::to_string(training.incarnation)) &&
        HasLabel(*pod, resources::kCompletionIndexLabel, "0")) {
      return pod;
    }
  }
  return nullptr;
}

ProgressPoller::ProgressPoller(client::ApiClient& client, const Caches& caches, ControllerMetrics& metrics,
                               ProgressOptions options, WallClock wall_clock, Fetch fetch)
    : client_(client),
      caches_(caches),
      metrics_(metrics),
      options_(options),
      wall_clock_(std::move(wall_clock)),
      fetch_(std::move(fetch)) {}

ProgressPoller::~ProgressPoller() { Stop(); }

void ProgressPoller::Start() {
  thread_ = std::jthread([this] {
    while (true) {
      {
        MutexLock lock(&mutex_);
        mutex_.AwaitBefore(Deadline::After(options_.interval),
                           [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_; });
        if (stopping_) return;
      }
      PollOnce();
    }
  });
}

void ProgressPoller::Stop() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void ProgressPoller::PollOnce() {
  std::vector<std::shared_ptr<const TrainingRecord>> trainings = caches_.trainings.All();
  std::erase_if(trainings, [](const auto& one) {
    return one->phase != api::ToString(api::Phase::kTraining) || one->has_program || !one->is_managed;
  });
  ForgetJobsExcept(trainings);
  // Several threads poll, so that a trainer that does not respond does not delay all other polls by its timeout.
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < trainings.size(); i = next++) {
      {
        MutexLock lock(&mutex_);
        if (stopping_) return;
      }
      Poll(*trainings[i]);
    }
  };
  std::vector<std::jthread> threads;
  const size_t num_threads = std::min<size_t>(static_cast<size_t>(options_.num_threads), trainings.size());
  try {
    for (size_t i = 1; i < num_threads; ++i) threads.emplace_back(work);
  } catch (const std::system_error& error) {  // cannot start more threads: this one and the started ones poll all jobs
    telemetry::Log(telemetry::Level::kWarning, "progress is polled by fewer threads", {{"error", error.what()}});
  }
  work();
}

void ProgressPoller::Poll(const TrainingRecord& training) {
  const std::shared_ptr<const kube::Pod> pod = FindRankZero(caches_, training);
  if (pod == nullptr) return;
  metrics_.progress_polls.Add();
  const Result<std::string> body = fetch_(pod->ip, Deadline::After(options_.request_timeout));
  const Result<api::Progress> progress =
      body.ok() ? ParseProgress(*body, training, wall_clock_()) : Result<api::Progress>(body.status());
  if (!progress.ok()) {
    metrics_.progress_failures.Add();
    return;
  }
  if (!TryBeginWrite(training, *progress)) return;
  const kube::ObjectMeta& meta = training.meta;
  const Status written = WriteProgress(client_, meta, *progress, meta.resource_version).status();
  if (written.ok()) return;
  ForgetWrite(meta.key);
  if (written.code() == StatusCode::kAborted) return;  // a conflict: the next poll sees the new resource
  metrics_.progress_failures.Add();
  telemetry::Log(telemetry::Level::kDebug, "progress not written",
                 {{"job", kube::ToString(meta.key)}, {"error", written}});
}

void ProgressPoller::ForgetWrite(const kube::ObjectKey& job) {
  MutexLock lock(&mutex_);
  written_.erase(job);
}

bool ProgressPoller::TryBeginWrite(const TrainingRecord& training, const api::Progress& progress) {
  const kube::WallTime now = wall_clock_();
  MutexLock lock(&mutex_);
  const auto found = written_.find(training.meta.key);
  if (found != written_.end() && found->second.uid == training.meta.uid) {
    if (now - found->second.at < options_.write_interval || EqualExceptTime(found->second.progress, progress))
      return false;
  }
  written_[training.meta.key] = {training.meta.uid, progress, now};
  return true;
}

void ProgressPoller::ForgetJobsExcept(const std::vector<std::shared_ptr<const TrainingRecord>>& trainings) {
  MutexLock lock(&mutex_);
  std::map<kube::ObjectKey, Written> kept;
  for (const auto& training : trainings) {
    if (auto node = written_.extract(training->meta.key)) kept.insert(std::move(node));
  }
  written_ = std::move(kept);
}

}  // namespace espalier::ctl::controller
