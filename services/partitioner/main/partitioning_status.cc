#include "services/partitioner/main/partitioning_status.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace espalier::partitioner {

PartitioningStatus::PartitioningStatus(std::string job, uint32_t rank, uint32_t num_partitioners,
                                       telemetry::MetricRegistry& registry)
    : job_(std::move(job)),
      rank_(rank),
      num_partitioners_(num_partitioners),
      registry_(registry),
      bytes_{.read = registry.AddCounter("espalier_partitioner_read_bytes_total",
                                         "Bytes read from object storage and folders, except mapped files."),
             .written = registry.AddCounter("espalier_partitioner_written_bytes_total",
                                            "Bytes written to object storage or a folder.")},
      refresh_(registry.BeforeSerialize([this] { Refresh(); })) {}

PartitioningStatus::Phase PartitioningStatus::MakePhase(const std::string& name) {
  Phase phase;
  phase.seconds_gauge = registry_.AddGauge(
      "espalier_partitioner_phase_seconds",
      "Duration of a phase, or its time so far if it has not ended; absent before it begins.", {{"phase", name}});
  phase.fraction_gauge = registry_.AddGauge(
      "espalier_partitioner_phase_done_ratio",
      "Completed share of a phase if it is known, otherwise 0 until the phase ends; absent before it begins.",
      {{"phase", name}});
  return phase;
}

double PartitioningStatus::Phase::FractionSoFar() const {
  if (is_over) return 1;
  if (meter == nullptr || meter->expected_bytes() == 0) return fraction;
  return std::min(1.0, static_cast<double>(meter->done_bytes()) / static_cast<double>(meter->expected_bytes()));
}

PartitioningStatus::Phase& PartitioningStatus::FindOrAddPhase(std::string_view name) {
  const std::string key(name);
  auto found = phases_.find(key);
  if (found == phases_.end()) found = phases_.emplace(key, MakePhase(key)).first;
  return found->second;
}

WorkMeter* PartitioningStatus::AddMeter(std::string_view phase) {
  MutexLock lock(&mutex_);
  Phase& counted = FindOrAddPhase(phase);
  counted.meter = std::make_unique<WorkMeter>();
  return counted.meter.get();
}

void PartitioningStatus::OnPhase(std::string_view name, double fraction) {
  MutexLock lock(&mutex_);
  Phase& phase = FindOrAddPhase(name);
  if (phase.is_over && fraction == 0) {
    phase.since = Timer();
    phase.is_over = false;
  }
  phase.fraction = fraction;
  if (fraction < 1) {
    current_ = name;
    return;
  }
  if (!phase.is_over) phase.seconds = phase.since.Seconds();
  phase.is_over = true;
  if (current_ == name) current_.clear();
}

void PartitioningStatus::Refresh() {
  MutexLock lock(&mutex_);
  for (auto& [name, phase] : phases_) {
    phase.seconds_gauge.Set(phase.SecondsSoFar());
    phase.fraction_gauge.Set(phase.FractionSoFar());
  }
}

std::string PartitioningStatus::Json() const {
  MutexLock lock(&mutex_);
  nlohmann::ordered_json status = {{"job", job_}, {"rank", rank_}, {"partitioners", num_partitioners_}};
  if (const auto current = phases_.find(current_); current != phases_.end()) {
    status["phase"] = current_;
    status["phaseSeconds"] = current->second.SecondsSoFar();
    // Some phases do not report progress between their begin and their end.
    const double fraction = current->second.FractionSoFar();
    if (fraction > 0) status["phasePercent"] = 100 * fraction;
  }
  status["seconds"] = nlohmann::ordered_json::object();
  for (const auto& [name, phase] : phases_) status["seconds"][name] = phase.SecondsSoFar();
  status["readBytes"] = static_cast<uint64_t>(bytes_.read.Value());
  status["writtenBytes"] = static_cast<uint64_t>(bytes_.written.Value());
  return status.dump();
}

}  // namespace espalier::partitioner
