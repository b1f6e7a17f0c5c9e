// Metrics as typed handles. A process makes one MetricRegistry in main and passes it on; each library declares
// its metrics, with help texts, in one place. Names: espalier_<where>_<what>_<unit>, counters end in _total;
// labels come from closed sets. Besides espalier_, the prefixes that controller-runtime and client-go made standard for
// operators are allowed, for metrics that mean the same as theirs, so that everybody's dashboards fit: workqueue_,
// rest_client_, controller_runtime_, leader_election_.
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

// Handles are cheap to copy and thread-safe; a default-made one does nothing. The registry outlives them.
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

// `count` upper bounds, each `factor` times the one before: {0.001, 4, 6} is 1 ms to about 1 s.
std::vector<double> ExponentialBuckets(double first, double factor, int count);

// Thread-safe. The same name and labels give the same metric. A name that breaks the rule above, or is used for
// two kinds of metric, is a bug of ours and ends the process.
class MetricRegistry {
 public:
  MetricRegistry();
  ~MetricRegistry();
  MetricRegistry(const MetricRegistry&) = delete;
  MetricRegistry& operator=(const MetricRegistry&) = delete;

  Counter AddCounter(const std::string& name, const std::string& help, const Labels& labels = {});
  Gauge AddGauge(const std::string& name, const std::string& help, const Labels& labels = {});
  // A gauge of something that ends before the process does: it leaves with what is returned. Nobody else adds this name
  // with these labels. The registry outlives it.
  [[nodiscard]] std::shared_ptr<Gauge> AddTemporaryGauge(const std::string& name, const std::string& help,
                                                         const Labels& labels);
  // `upper_bounds` ascending; the bucket +Inf is added.
  Histogram AddHistogram(const std::string& name, const std::string& help, const std::vector<double>& upper_bounds,
                         const Labels& labels = {});
  // Memory, processor time and open files, read at each scrape (espalier_process_*); version (espalier_build_info).
  void AddProcessMetrics();
  // `refresh` is called at the start of each Serialize, for gauges whose value is only known by looking, until what is
  // returned is destroyed (which waits for a call under way). It calls nothing of this registry but handles. The
  // registry outlives what is returned.
  [[nodiscard]] std::shared_ptr<void> BeforeSerialize(std::function<void()> refresh);

  // Prometheus' text format, version 0.0.4.
  std::string Serialize() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace espalier::telemetry
