#include "services/telemetry/metrics.h"

#include <ctime>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::telemetry {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(MetricsTest, CountsSetsAndObserves) {
  MetricRegistry registry;
  Counter counter = registry.AddCounter("espalier_test_calls_total", "Calls.");
  Gauge gauge = registry.AddGauge("espalier_test_queue_items", "Waiting.");
  Histogram histogram = registry.AddHistogram("espalier_test_call_seconds", "Time.", {0.1, 1}, {{"method", "get"}});
  counter.Add();
  counter.Add(2);
  gauge.Set(5);
  gauge.Add(-1);
  histogram.Observe(0.5);

  const std::string text = registry.Serialize();

  EXPECT_DOUBLE_EQ(counter.Value(), 3);
  EXPECT_THAT(text, HasSubstr("espalier_test_calls_total 3\n"));
  EXPECT_THAT(text, HasSubstr("espalier_test_queue_items 4\n"));
  EXPECT_THAT(text, HasSubstr("espalier_test_call_seconds_bucket{method=\"get\",le=\"0.1\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("espalier_test_call_seconds_bucket{method=\"get\",le=\"1\"} 1\n"));
}

TEST(MetricsTest, TheSameNameAndLabelsAreTheSameMetric) {
  MetricRegistry registry;
  registry.AddCounter("espalier_test_calls_total", "Calls.", {{"x", "1"}}).Add();
  registry.AddCounter("espalier_test_calls_total", "Calls.", {{"x", "2"}}).Add(5);

  EXPECT_DOUBLE_EQ(registry.AddCounter("espalier_test_calls_total", "Calls.", {{"x", "1"}}).Value(), 1);
}

TEST(MetricsTest, AHandleWithoutARegistryDoesNothing) {
  Counter counter;
  counter.Add();
  Gauge().Set(1);
  Histogram().Observe(1);

  EXPECT_DOUBLE_EQ(counter.Value(), 0);
}

TEST(MetricsTest, AcceptsStandardNamesOfOperators) {
  MetricRegistry registry;
  registry.AddGauge("workqueue_depth", "Waiting.", {{"name", "disttraining"}}).Set(3);
  registry.AddCounter("rest_client_requests_total", "Requests.").Add();
  registry.AddGauge("controller_runtime_active_workers", "At work.").Set(2);
  registry.AddGauge("leader_election_master_status", "Leads.").Set(1);

  const std::string text = registry.Serialize();

  EXPECT_THAT(text, HasSubstr("workqueue_depth{name=\"disttraining\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("rest_client_requests_total 1\n"));
  EXPECT_THAT(text, HasSubstr("controller_runtime_active_workers 2\n"));
  EXPECT_THAT(text, HasSubstr("leader_election_master_status 1\n"));
}

TEST(MetricsTest, RefreshesBeforeEachScrapeWhileHandleExists) {
  MetricRegistry registry;
  Gauge gauge = registry.AddGauge("espalier_test_age_seconds", "Age.");
  int looks = 0;
  std::shared_ptr<void> handle = registry.BeforeSerialize([&] { gauge.Set(++looks); });

  EXPECT_THAT(registry.Serialize(), HasSubstr("espalier_test_age_seconds 1\n"));
  EXPECT_THAT(registry.Serialize(), HasSubstr("espalier_test_age_seconds 2\n"));
  handle.reset();
  EXPECT_THAT(registry.Serialize(), HasSubstr("espalier_test_age_seconds 2\n"));
}

// Compares the counter with the C library's clock(), which measures the same time independently.
TEST(MetricsTest, ProcessorSecondsAreACounterThatFollowsTheProcess) {
  MetricRegistry registry;
  registry.AddProcessMetrics();
  const auto counted = [&registry] {
    const std::string text = registry.Serialize();
    const std::string name = "\nespalier_process_cpu_seconds_total ";
    const size_t at = text.find(name);
    EXPECT_NE(at, std::string::npos) << text;
    return std::stod(text.substr(at + name.size()));
  };
  const double before = counted();
  const std::clock_t start = std::clock();
  while (std::clock() - start < CLOCKS_PER_SEC / 50) continue;
  const double after = counted();
  EXPECT_GE(after - before, 0.02 * 0.5);
  EXPECT_NEAR(after, static_cast<double>(std::clock()) / CLOCKS_PER_SEC, 0.5);
  EXPECT_THAT(registry.Serialize(), HasSubstr("# TYPE espalier_process_cpu_seconds_total counter\n"));
}

TEST(MetricsTest, ReportsVersion) {
  MetricRegistry registry;
  registry.AddProcessMetrics();
  EXPECT_THAT(registry.Serialize(), testing::ContainsRegex("\nespalier_build_info\\{version=\"[0-9.]+\"\\} 1\n"));
}

TEST(MetricsTest, TemporaryGaugeEndsWithItsHandle) {
  MetricRegistry registry;
  const std::shared_ptr<Gauge> stays = registry.AddTemporaryGauge("espalier_test_jobs_count", "Jobs.", {{"x", "1"}});
  std::shared_ptr<Gauge> goes = registry.AddTemporaryGauge("espalier_test_jobs_count", "Jobs.", {{"x", "2"}});
  goes->Set(7);
  EXPECT_THAT(registry.Serialize(), HasSubstr("espalier_test_jobs_count{x=\"2\"} 7\n"));

  goes.reset();

  EXPECT_THAT(registry.Serialize(), Not(HasSubstr("x=\"2\"")));
  EXPECT_THAT(registry.Serialize(), HasSubstr("espalier_test_jobs_count{x=\"1\"} 0\n"));
  goes = registry.AddTemporaryGauge("espalier_test_jobs_count", "Jobs.", {{"x", "2"}});
  EXPECT_DOUBLE_EQ(goes->Value(), 0);
}

TEST(MetricsTest, MakesExponentialBuckets) { EXPECT_THAT(ExponentialBuckets(0.5, 2, 4), ElementsAre(0.5, 1, 2, 4)); }

TEST(MetricsDeathTest, BadNamesAreBugs) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  MetricRegistry registry;

  EXPECT_DEATH(registry.AddCounter("requests_total", "No prefix."), "counter name requests_total");
  EXPECT_DEATH(registry.AddCounter("espalier_test_calls", "No total."), "counter name");
  EXPECT_DEATH(registry.AddCounter("workqueue_adds", "Standard, but no total."), "counter name");
  EXPECT_DEATH(registry.AddGauge("workqueues_depth", "Nearly standard."), "gauge name");
  EXPECT_DEATH(registry.AddGauge("espalier_test_Calls", "Upper case."), "gauge name");
}

}  // namespace
}  // namespace espalier::telemetry
