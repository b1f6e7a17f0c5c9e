// A handle points to a metric of prometheus-cpp, which the prometheus::Registry owns. AddTemporaryGauge and
// BeforeSerialize return shared pointers whose deleters remove the gauge or the refresh function.
#include "services/telemetry/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "services/base/check.h"
#include "services/base/mutex.h"
#include "services/telemetry/process_metrics.h"

namespace espalier::telemetry {
namespace {

// The prefix of Espalier, and the prefixes of the standard metrics of controller-runtime and client-go.
constexpr std::array<std::string_view, 5> kPrefixes{"espalier_", "workqueue_", "rest_client_", "controller_runtime_",
                                                    "leader_election_"};

bool IsValidName(const std::string& name) {
  const bool has_prefix = std::any_of(kPrefixes.begin(), kPrefixes.end(),
                                      [&](std::string_view prefix) { return name.starts_with(prefix); });
  if (!has_prefix || name.back() == '_') return false;
  return name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
}

bool EndsInTotal(const std::string& name) {
  constexpr std::string_view kSuffix = "_total";
  return name.size() > kSuffix.size() && name.compare(name.size() - kSuffix.size(), kSuffix.size(), kSuffix) == 0;
}

}  // namespace

struct MetricRegistry::State {
  prometheus::Registry registry;  // thread-safe
  std::unique_ptr<ProcessMetrics> process;

  Mutex mutex;
  int64_t next_refresh ABSL_GUARDED_BY(mutex) = 0;
  std::map<int64_t, std::function<void()>> refreshes ABSL_GUARDED_BY(mutex);
};

void Counter::Add(double amount) {
  if (metric_ != nullptr) metric_->Increment(amount);
}
double Counter::Value() const { return metric_ == nullptr ? 0 : metric_->Value(); }

void Gauge::Set(double value) {
  if (metric_ != nullptr) metric_->Set(value);
}
void Gauge::Add(double amount) {
  if (metric_ != nullptr) metric_->Increment(amount);
}
double Gauge::Value() const { return metric_ == nullptr ? 0 : metric_->Value(); }

void Histogram::Observe(double value) {
  if (metric_ != nullptr) metric_->Observe(value);
}

std::vector<double> ExponentialBuckets(double first, double factor, int count) {
  std::vector<double> bounds;
  double bound = first;
  for (int i = 0; i < count; ++i) {
    bounds.push_back(bound);
    bound *= factor;
  }
  return bounds;
}

MetricRegistry::MetricRegistry() : state_(std::make_unique<State>()) {}
MetricRegistry::~MetricRegistry() = default;

Counter MetricRegistry::AddCounter(const std::string& name, const std::string& help, const Labels& labels) {
  ESPALIER_CHECK(IsValidName(name) && EndsInTotal(name)) << "counter name " << name;
  return Counter(&prometheus::BuildCounter().Name(name).Help(help).Register(state_->registry).Add(labels));
}

Gauge MetricRegistry::AddGauge(const std::string& name, const std::string& help, const Labels& labels) {
  ESPALIER_CHECK(IsValidName(name) && !EndsInTotal(name)) << "gauge name " << name;
  return Gauge(&prometheus::BuildGauge().Name(name).Help(help).Register(state_->registry).Add(labels));
}

std::shared_ptr<Gauge> MetricRegistry::AddTemporaryGauge(const std::string& name, const std::string& help,
                                                         const Labels& labels) {
  ESPALIER_CHECK(IsValidName(name) && !EndsInTotal(name)) << "gauge name " << name;
  auto& family = prometheus::BuildGauge().Name(name).Help(help).Register(state_->registry);
  return std::shared_ptr<Gauge>(new Gauge(&family.Add(labels)), [&family](Gauge* gauge) {
    family.Remove(gauge->metric_);
    delete gauge;
  });
}

Histogram MetricRegistry::AddHistogram(const std::string& name, const std::string& help,
                                       const std::vector<double>& upper_bounds, const Labels& labels) {
  ESPALIER_CHECK(IsValidName(name) && !EndsInTotal(name)) << "histogram name " << name;
  return Histogram(
      &prometheus::BuildHistogram().Name(name).Help(help).Register(state_->registry).Add(labels, upper_bounds));
}

void MetricRegistry::AddProcessMetrics() {
  if (state_->process == nullptr) state_->process = std::make_unique<ProcessMetrics>(*this);
}

std::shared_ptr<void> MetricRegistry::BeforeSerialize(std::function<void()> refresh) {
  State* const state = state_.get();
  MutexLock lock(&state->mutex);
  const int64_t id = state->next_refresh++;
  state->refreshes.emplace(id, std::move(refresh));
  return std::shared_ptr<void>(nullptr, [state, id](void*) {
    MutexLock erase_lock(&state->mutex);
    state->refreshes.erase(id);
  });
}

std::string MetricRegistry::Serialize() const {
  if (state_->process != nullptr) state_->process->Refresh();
  {
    // Destroying an object that BeforeSerialize returned waits for this lock, so what `refresh` reads still exists.
    MutexLock lock(&state_->mutex);
    for (const auto& [id, refresh] : state_->refreshes) refresh();
  }
  return prometheus::TextSerializer().Serialize(state_->registry.Collect());
}

}  // namespace espalier::telemetry
