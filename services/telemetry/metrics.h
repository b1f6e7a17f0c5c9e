// Metrics as typed handles. A process creates one MetricRegistry in main and passes it to its objects. Each library
// declares its metrics and their help texts in one place. Names have the form espalier_<where>_<what>_<unit>; counters
// end in _total; label values come from fixed sets, except a job's name and namespace. Metrics with the same meaning as
// the standard metrics of controller-runtime and client-go use the standard prefixes, so that existing dashboards work:
// workqueue_, rest_client_, controller_runtime_, leader_election_.
//
//   struct ServerMetrics {
//     explicit ServerMetrics(MetricRegistry& r)
//         : requests(r.AddCounter("espalier_server_requests_total", "Requests answered.")) {}
//     Counter requests;
//   };
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
}  // namespace prometheus

namespace espalier::telemetry {

using Labels = std::map<std::string, std::string>;

// Handles are cheap to copy and thread-safe. A default-constructed handle does nothing. The registry must outlive them.
class Counter {
 public:
  Counter() = default;
  void Add(double amount = 1);
  double Value() const;

 private:
  friend class MetricRegistry;
  explicit Counter(prometheus::Counter* metric) : metric_(metric) {}
  prometheus::Counter* metric_ = nullptr;
};

class Gauge {
 public:
  Gauge() = default;
  void Set(double value);
  void Add(double amount);
  double Value() const;

 private:
  friend class MetricRegistry;
  explicit Gauge(prometheus::Gauge* metric) : metric_(metric) {}
  prometheus::Gauge* metric_ = nullptr;
};

class Histogram {
 public:
  Histogram() = default;
  void Observe(double value);

 private:
  friend class MetricRegistry;
  explicit Histogram(prometheus::Histogram* metric) : metric_(metric) {}
  prometheus::Histogram* metric_ = nullptr;
};

// Returns `count` upper bounds, each `factor` times the previous one: ExponentialBuckets(0.001, 4, 6) returns bounds
// from 1 ms to about 1 s.
std::vector<double> ExponentialBuckets(double first, double factor, int count);

// Thread-safe. Adding the same name and labels again returns the same metric. A name is a bug and ends the process if
// it has none of the prefixes above, has characters other than a-z, 0-9 and _, ends in _, lacks _total for a counter or
// has it for another metric, or is used for two kinds of metrics.
class MetricRegistry {
 public:
  MetricRegistry();
  ~MetricRegistry();
  MetricRegistry(const MetricRegistry&) = delete;
  MetricRegistry& operator=(const MetricRegistry&) = delete;

  Counter AddCounter(const std::string& name, const std::string& help, const Labels& labels = {});
  Gauge AddGauge(const std::string& name, const std::string& help, const Labels& labels = {});
  // Adds a gauge that is removed when the returned pointer is destroyed, for objects that end before the process. No
  // other code may add this name with these labels. The registry must outlive the pointer.
  [[nodiscard]] std::shared_ptr<Gauge> AddTemporaryGauge(const std::string& name, const std::string& help,
                                                         const Labels& labels);
  // `upper_bounds` must be ascending; the bucket +Inf is added.
  Histogram AddHistogram(const std::string& name, const std::string& help, const std::vector<double>& upper_bounds,
                         const Labels& labels = {});
  // Adds the metrics of memory, processor time and open files (espalier_process_*), which every call of Serialize
  // updates, and the version (espalier_build_info).
  void AddProcessMetrics();
  // Makes every call of Serialize call `refresh` first, to set gauges whose values are read on demand. Destroying the
  // returned object waits until `refresh` is not running, and then unregisters it. `refresh` may use handles but must
  // not call the registry. The registry must outlive the returned object.
  [[nodiscard]] std::shared_ptr<void> BeforeSerialize(std::function<void()> refresh);

  // Returns all metrics in the Prometheus text format, version 0.0.4.
  std::string Serialize() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace espalier::telemetry
