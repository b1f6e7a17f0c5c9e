#include "services/telemetry/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "services/base/check.h"
#include "services/telemetry/process_metrics.h"

namespace espalier::telemetry {
namespace {

bool IsValidName(const std::string& name) {
  constexpr const char* kPrefix = "espalier_";
  if (name.rfind(kPrefix, 0) != 0 || name.back() == '_') return false;
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
  for (double bound = first; count > 0; --count, bound *= factor) bounds.push_back(bound);
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

Histogram MetricRegistry::AddHistogram(const std::string& name, const std::string& help,
                                       const std::vector<double>& upper_bounds, const Labels& labels) {
  ESPALIER_CHECK(IsValidName(name) && !EndsInTotal(name)) << "histogram name " << name;
  return Histogram(
      &prometheus::BuildHistogram().Name(name).Help(help).Register(state_->registry).Add(labels, upper_bounds));
}

void MetricRegistry::AddProcessMetrics() {
  if (state_->process == nullptr) state_->process = std::make_unique<ProcessMetrics>(*this);
}

std::string MetricRegistry::Serialize() const {
  if (state_->process != nullptr) state_->process->Refresh();
  return prometheus::TextSerializer().Serialize(state_->registry.Collect());
}

}  // namespace espalier::telemetry
