// Measures the operator's controller, with real threads and without rate limit, against the fake API server:
//
//   espalier-reconcile-bench --jobs 200 --idle 5000
//
//   jobs/s          from the first creation until each job has all its children (the trainer Job is the last)
//   CPU per job     processor time, separately for the operator, the fake API server and the fake cluster
//   reconcile p99   upper bound of the histogram bucket with the 99th percentile of the reconcile time of these jobs
//   new job         from a job's creation until its partition Job exists, beside N suspended jobs (--idle N)
//   memory          peak of the process: operator, fake API server and fake cluster together
#include <pthread.h>

#include <cstdio>
#include <sstream>
#include <thread>

#include "CLI/CLI.hpp"
#include "operator/api/testing/cluster_document.h"
#include "operator/benchmarks/metered_transport.h"
#include "operator/controller/controller.h"
#include "operator/testing/fake_cluster.h"
#include "services/base/check.h"
#include "services/telemetry/log.h"
#include "services/telemetry/process_metrics.h"

namespace espalier::ctl::cluster {
namespace {

using kube::Json;

// Processor time in seconds.
struct Cpu {
  double operator_threads = 0;
  double server = 0;   // of the fake API server, for requests of the operator
  double cluster = 0;  // of the fake cluster
};

void Create(client::ApiClient& client, const std::string& name, bool suspended) {
  Json object = api::ClusterDocument();
  object["metadata"] = {{"name", name}, {"namespace", "ml"}};
  object["spec"]["runPolicy"] = {{"suspend", suspended}};
  const auto created = client.Create(kube::kDistTrainings, object);
  ESPALIER_CHECK(created.ok()) << created.status().ToString();
}

// Blocks until `condition` returns true, and then returns the timer's seconds. Crashes if they reach ten minutes.
double WaitFor(const Timer& timer, const std::function<bool()>& condition) {
  while (!condition()) {
    ESPALIER_CHECK(timer.Seconds() < 600) << "not done after ten minutes";
    Clock::Real().SleepFor(std::chrono::milliseconds(2));
  }
  return timer.Seconds();
}

// Returns the histogram's smallest bucket bound that at least 99 % of the observations do not exceed.
std::string Percentile99(const std::string& metrics, const std::string& name) {
  std::istringstream lines(metrics);
  std::vector<std::pair<std::string, double>> buckets;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(name + "_bucket", 0) != 0) continue;
    const size_t le = line.find("le=\"") + 4;
    buckets.emplace_back(line.substr(le, line.find('"', le) - le), std::stod(line.substr(line.rfind(' '))));
  }
  for (const auto& [bound, count] : buckets) {
    if (count >= 0.99 * buckets.back().second) return bound + " s";
  }
  return "?";
}

// Returns the sum of the metric over all labels.
double Sum(const std::string& metrics, const std::string& name) {
  std::istringstream lines(metrics);
  double sum = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(name + "{", 0) == 0) sum += std::stod(line.substr(line.rfind(' ')));
  }
  return sum;
}

// Returns the clock that counts the thread's processor time.
clockid_t GetCpuClock(std::jthread& thread) {
  clockid_t clock{};
  ESPALIER_CHECK(pthread_getcpuclockid(thread.native_handle(), &clock) == 0);
  return clock;
}

void Run(int num_jobs, int num_idle, int workers) {
  client::FakeApiServer server;
  FakeCluster cluster(server, kube::SystemTime);
  const auto direct = server.Connect("espalier-operator");
  client::MeteredTransport transport(*direct);
  telemetry::MetricRegistry metrics;
  client::ClientMetrics client_metrics(metrics);
  client::ApiClientOptions unlimited;
  unlimited.qps = 0;
  client::ApiClient client(transport, unlimited, client_metrics);
  client::ApiClient user(*direct, unlimited, client_metrics);
  runtime::EventRecorder events(client, "espalier.io/operator", "bench", metrics);
  controller::ControllerOptions options;
  options.defaults = {.core_image = "core:1", .trainer_image = "trainer:1"};
  options.num_workers = workers;
  options.poll_progress = false;
  controller::Controller controller(client, events, options, metrics);
  controller.StartCaches();
  const Status filled = controller.WaitForCaches(Deadline::After(std::chrono::seconds(60)));
  ESPALIER_CHECK(filled.ok()) << filled.ToString();
  controller.StartWorkers();
  std::jthread cluster_thread([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      if (cluster.Step() == 0) Clock::Real().SleepFor(std::chrono::milliseconds(2));
    }
  });

  const clockid_t process_clock = CLOCK_PROCESS_CPUTIME_ID;
  const clockid_t user_clock = CLOCK_THREAD_CPUTIME_ID;  // of this thread, which acts as the user
  const clockid_t cluster_clock = GetCpuClock(cluster_thread);
  const auto cpu_now = [&] {
    Cpu cpu{.server = transport.cpu_seconds(), .cluster = client::CpuSeconds(cluster_clock)};
    cpu.operator_threads =
        client::CpuSeconds(process_clock) - client::CpuSeconds(user_clock) - cpu.server - cpu.cluster;
    return cpu;
  };
  const Cpu before = cpu_now();
  const int64_t requests_before = server.num_requests();
  const Timer timer;
  for (int i = 0; i < num_jobs; ++i) Create(user, "job-" + std::to_string(i), false);
  const double seconds = WaitFor(timer, [&] {
    return server.Count(kube::kJobs) >= static_cast<size_t>(2 * num_jobs);  // each has a partition and a trainer Job
  });
  const int64_t requests = server.num_requests() - requests_before;
  const Cpu after = cpu_now();
  const std::string measured = metrics.Serialize();
  const double num_reconciles = Sum(measured, "controller_runtime_reconcile_time_seconds_count");

  for (int i = 0; i < num_idle; ++i) Create(user, "idle-" + std::to_string(i), true);
  const Timer idle_timer;
  WaitFor(idle_timer, [&] {
    size_t num_suspended = 0;
    for (const auto& training : controller.caches().trainings.All()) num_suspended += training->phase == "Suspended";
    Clock::Real().SleepFor(std::chrono::milliseconds(100));
    return num_suspended == static_cast<size_t>(num_idle) && Sum(metrics.Serialize(), "workqueue_depth") == 0;
  });
  const Timer new_timer;
  Create(user, "new", false);
  const double new_seconds = WaitFor(new_timer, [&] {
    return server.Find(kube::kJobs, {"ml", "new-partition-1"}).has_value();
  });

  std::printf("%-34s %d\n", "jobs", num_jobs);
  std::printf("%-34s %.1f\n", "jobs/s until all children exist", num_jobs / seconds);
  std::printf("%-34s %.1f\n", "requests per job, incl. creation", static_cast<double>(requests) / num_jobs);
  const auto print_cpu = [&](const char* what, double cpu_seconds) {
    std::printf("%-34s %.2f ms\n", what, cpu_seconds * 1000 / num_jobs);
  };
  print_cpu("CPU per job, operator", after.operator_threads - before.operator_threads);
  print_cpu("CPU per job, fake API server", after.server - before.server);
  print_cpu("CPU per job, fake cluster", after.cluster - before.cluster);
  std::printf("%-34s %.1f, each %.2f ms CPU\n", "reconciles per job", num_reconciles / num_jobs,
              (after.operator_threads - before.operator_threads) * 1000 / num_reconciles);
  std::printf("%-34s <= %s\n", "reconcile p99",
              Percentile99(measured, "controller_runtime_reconcile_time_seconds").c_str());
  std::printf("%-34s %.3f s (%d idle jobs)\n", "new job until its partition Job", new_seconds, num_idle);
  std::printf("%-34s %.0f MB\n", "peak memory of the process",
              static_cast<double>(telemetry::PeakResidentBytes()) / 1e6);
  controller.Stop(Deadline::After(std::chrono::seconds(30)));
}

}  // namespace
}  // namespace espalier::ctl::cluster

int main(int argc, char** argv) {
  CLI::App app{"Measures the operator's controller against a fake API server."};
  int jobs = 200, idle = 5000, workers = espalier::ctl::controller::ControllerOptions().num_workers;
  app.add_option("--jobs", jobs, "DistTrainings to create, without a pause")->check(CLI::Range(1, 100000));
  app.add_option("--idle", idle, "suspended DistTrainings that exist while the start of a new one is measured")
      ->check(CLI::Range(0, 100000));
  app.add_option("--workers", workers, "worker threads of the controller, as in espalier-operator")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  espalier::telemetry::LogOptions log;
  log.level = espalier::telemetry::Level::kWarning;
  espalier::telemetry::InitializeLogging(std::move(log));
  espalier::ctl::cluster::Run(jobs, idle, workers);
  return 0;
}
