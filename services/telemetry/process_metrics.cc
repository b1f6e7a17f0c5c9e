#include "services/telemetry/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "services/telemetry/memory_limit.h"

namespace espalier::telemetry {
namespace {

double ToSeconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

rusage ReadUsage() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage;
}

uint64_t ReadResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  uint64_t total_pages = 0;
  uint64_t resident_pages = 0;
  statm >> total_pages >> resident_pages;
  return resident_pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// Returns the memory that counts toward a limit and that the kernel cannot reclaim: resident memory without the pages
// of mapped files.
uint64_t ReadUnreclaimableBytes() {
  std::ifstream status("/proc/self/status");
  uint64_t kibibytes = 0;
  for (std::string word; status >> word;) {
    if (word != "RssAnon:" && word != "RssShmem:") continue;
    uint64_t value = 0;
    status >> value;
    kibibytes += value;
  }
  return kibibytes * 1024;
}

uint64_t CountOpenFiles() {
  std::error_code error;
  uint64_t count = 0;
  for (auto it = std::filesystem::directory_iterator("/proc/self/fd", error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    ++count;
  }
  return count;
}

}  // namespace

uint64_t PeakResidentBytes() { return static_cast<uint64_t>(ReadUsage().ru_maxrss) * 1024; }

ProcessMetrics::ProcessMetrics(MetricRegistry& registry)
    : registry_(registry),
      resident_bytes_(registry.AddGauge("espalier_process_resident_bytes", "Resident memory, including shared pages.")),
      unreclaimable_bytes_(
          registry.AddGauge("espalier_process_unreclaimable_bytes", "Resident memory except mapped files.")),
      peak_resident_bytes_(
          registry.AddGauge("espalier_process_peak_resident_bytes", "Largest resident memory so far.")),
      cpu_seconds_(registry.AddCounter("espalier_process_cpu_seconds_total", "Processor time used, user and system.")),
      open_files_(registry.AddGauge("espalier_process_open_files", "File descriptors open now.")) {
  registry
      .AddGauge("espalier_build_info", "1, with the version of Espalier as a label.", {{"version", ESPALIER_VERSION}})
      .Set(1);
}

void ProcessMetrics::Refresh() {
  const rusage usage = ReadUsage();
  resident_bytes_.Set(static_cast<double>(ReadResidentBytes()));
  unreclaimable_bytes_.Set(static_cast<double>(ReadUnreclaimableBytes()));
  SetMemoryLimit(MemoryLimitBytes());
  peak_resident_bytes_.Set(static_cast<double>(usage.ru_maxrss) * 1024);
  CountProcessorTime(ToSeconds(usage.ru_utime) + ToSeconds(usage.ru_stime));
  open_files_.Set(static_cast<double>(CountOpenFiles()));
}

// Ignores smaller values, because concurrent refreshes may call this in another order than they read the time.
void ProcessMetrics::CountProcessorTime(double seconds_so_far) {
  MutexLock lock(&mutex_);
  if (seconds_so_far <= counted_cpu_seconds_) return;
  cpu_seconds_.Add(seconds_so_far - counted_cpu_seconds_);
  counted_cpu_seconds_ = seconds_so_far;
}

// Called by every Refresh, because a limit may be set, changed or removed while the process runs.
void ProcessMetrics::SetMemoryLimit(std::optional<uint64_t> limit) {
  MutexLock lock(&mutex_);
  if (!limit.has_value()) return memory_limit_bytes_.reset();
  if (memory_limit_bytes_ == nullptr) {
    memory_limit_bytes_ = registry_.AddTemporaryGauge("espalier_process_memory_limit_bytes",
                                                      "Smallest memory limit of the process's control groups.", {});
  }
  memory_limit_bytes_->Set(static_cast<double>(*limit));
}

}  // namespace espalier::telemetry
