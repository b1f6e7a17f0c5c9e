// The training thread calls the On methods, which update the metrics and the members that Json reads. Two timers
// measure speed: timer_ runs from the end of the first step, and etaSeconds is estimated from it; since_step_ covers
// only the time between steps in the training phase, so that evaluations do not lower seedsPerSecond.
#include "services/trainer/main/training_status.h"

#include <nlohmann/json.hpp>

#include "services/base/mutex.h"
#include "services/trainer/evaluation/metrics.h"
#include "services/trainer/outputs.h"

namespace espalier::trainer {
namespace {

telemetry::Counter AddSecondsCounter(telemetry::MetricRegistry& metrics, const std::string& stage) {
  return metrics.AddCounter("espalier_trainer_stage_seconds_total",
                            "Seconds by stage; sampling and fetching run in parallel with the computation.",
                            {{"stage", stage}});
}

// Returns the completed share of the steps of all epochs.
double ComputeFraction(const RunPosition& position) {
  const double all = static_cast<double>(position.num_epochs) * position.steps_per_epoch;
  const double done = static_cast<double>(position.epoch) * position.steps_per_epoch + position.step + 1;
  return all == 0 ? 1 : done / all;
}

bool IsLastOfEpoch(const RunPosition& position) { return position.step + 1 == position.steps_per_epoch; }

}  // namespace

TrainingStatus::TrainingStatus(const job::DistTraining& job, const std::string& job_uid, uint32_t rank,
                               uint32_t num_trainers, uint64_t incarnation, telemetry::MetricRegistry& metrics)
    : job_name_(job.name),
      job_uid_(job_uid),
      metric_(job.training.evaluation.metric),
      rank_(rank),
      num_trainers_(num_trainers),
      incarnation_(incarnation),
      registry_(metrics),
      steps_(metrics.AddCounter("espalier_trainer_steps_total", "Completed training steps.")),
      seeds_(metrics.AddCounter("espalier_trainer_seeds_total",
                                "Seed nodes or edges of training steps, over all trainers.")),
      epoch_(metrics.AddGauge("espalier_trainer_epoch_count", "Completed epochs.")),
      progress_(metrics.AddGauge("espalier_trainer_progress_ratio", "Completed share of the steps of all epochs.")),
      sample_seconds_(AddSecondsCounter(metrics, "sample")),
      fetch_seconds_(AddSecondsCounter(metrics, "fetch")),
      wait_seconds_(AddSecondsCounter(metrics, "wait")),
      compute_seconds_(AddSecondsCounter(metrics, "compute")),
      communicate_seconds_(AddSecondsCounter(metrics, "communicate")),
      evaluate_seconds_(AddSecondsCounter(metrics, "evaluate")) {
  if (job.training.epochs > 0) return;
  progress_.Set(1);  // there are no steps to wait for
  MutexLock lock(&mutex_);
  position_ = RunPosition();
}

void TrainingStatus::OnResumed(const RunPosition& position) {
  progress_.Set(ComputeFraction(position));
  epoch_.Set(position.epoch + (IsLastOfEpoch(position) ? 1 : 0));
  MutexLock lock(&mutex_);
  position_ = position;
}

void TrainingStatus::OnStep(const RunPosition& position) {
  steps_.Add();
  seeds_.Add(position.num_seeds);
  progress_.Set(ComputeFraction(position));
  sample_seconds_.Add(position.seconds.sample);
  fetch_seconds_.Add(position.seconds.fetch);
  wait_seconds_.Add(position.seconds.wait);
  compute_seconds_.Add(position.seconds.compute);
  communicate_seconds_.Add(position.seconds.communicate);
  MutexLock lock(&mutex_);
  if (!has_stepped_) {
    timer_ = Timer();
    timer_start_fraction_ = ComputeFraction(position);
  }
  has_stepped_ = true;
  if (since_step_.has_value()) {
    timed_seconds_ += since_step_->Seconds();
    timed_seeds_ += position.num_seeds;
  }
  since_step_ = Timer();
  position_ = position;
}

void TrainingStatus::OnEpoch(const EpochReport& report) {
  // The gauges are registered with their first value: before that, a loss of 0 would look like a very good one.
  registry_.AddGauge("espalier_trainer_loss_value", "Mean loss of the last epoch.").Set(report.loss);
  registry_.AddGauge("espalier_trainer_epoch_seconds", "Seconds of the last epoch, including its evaluation.")
      .Set(report.total_seconds);
  if (report.validation.has_value()) {
    registry_
        .AddGauge("espalier_trainer_validation_value", "The job's metric at the last evaluation.",
                  {{"metric", ToString(metric_)}})
        .Set(*report.validation);
  }
  evaluate_seconds_.Add(report.seconds.evaluate);
  MutexLock lock(&mutex_);
  // A stop request may have cut the epoch short.
  if (position_.has_value() && position_->epoch == report.epoch && IsLastOfEpoch(*position_)) {
    epoch_.Set(report.epoch + 1);
  }
  last_epoch_ = report;
  if (report.validation.has_value()) last_validation_ = report.validation;
}

void TrainingStatus::OnPhase(RunPhase phase, std::optional<double> fraction) {
  MutexLock lock(&mutex_);
  if (phase != RunPhase::kTraining) {
    since_step_.reset();
  } else if (has_stepped_ && !since_step_.has_value()) {
    since_step_ = Timer();
  }
  // The writing phase begins after the loop has ended. With early stopping, the loop ends before the last planned step.
  if (phase == RunPhase::kWriting) has_no_more_steps_ = true;
  phase_ = phase;
  phase_fraction_ = fraction;
}

void TrainingStatus::OnWarning(const std::string& warning) {
  MutexLock lock(&mutex_);
  warnings_.push_back(warning);
}

std::string TrainingStatus::Json() const {
  MutexLock lock(&mutex_);
  nlohmann::ordered_json status = {
      {"job", job_name_}, {"rank", rank_}, {"trainers", num_trainers_}, {"incarnation", incarnation_}};
  if (!job_uid_.empty()) status["uid"] = job_uid_;
  const bool is_training = phase_.value_or(RunPhase::kTraining) == RunPhase::kTraining;
  if (phase_.has_value()) status["phase"] = ToString(*phase_);
  if (is_training && phase_.has_value()) {
    status["phasePercent"] = position_.has_value() ? 100 * ComputeFraction(*position_) : 0.0;
  } else if (phase_fraction_.has_value()) {
    status["phasePercent"] = 100 * *phase_fraction_;
  }
  if (position_.has_value()) {
    const double fraction = ComputeFraction(*position_);
    status["epoch"] = position_->epoch;
    status["step"] = position_->step;
    status["epochs"] = position_->num_epochs;
    status["stepsPerEpoch"] = position_->steps_per_epoch;
    status["percent"] = 100 * fraction;
    // The speed of this incarnation is unknown before its second step, and no time remains after the last one.
    if (has_stepped_ && fraction > timer_start_fraction_) {
      status["etaSeconds"] = timer_.Seconds() * (1 - fraction) / (fraction - timer_start_fraction_);
    }
    if (fraction == 1 || has_no_more_steps_) status["etaSeconds"] = 0.0;
    if (is_training && timed_seeds_ > 0) status["seedsPerSecond"] = static_cast<double>(timed_seeds_) / timed_seconds_;
  }
  nlohmann::ordered_json metrics = nlohmann::ordered_json::object();
  if (last_epoch_.has_value()) {
    metrics["loss"] = last_epoch_->loss;
    metrics["secondsPerEpoch"] = last_epoch_->total_seconds;
  }
  if (last_validation_.has_value()) metrics[ResultKey("validation", metric_)] = *last_validation_;
  status["metrics"] = std::move(metrics);
  if (!warnings_.empty()) status["warnings"] = warnings_;
  return status.dump();
}

}  // namespace espalier::trainer
