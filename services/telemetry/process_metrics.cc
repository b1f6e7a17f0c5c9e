#include "services/telemetry/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "services/telemetry/memory_limit.h"

namespace espalier::telemetry {
namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

rusage Usage() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage;
}

uint64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  uint64_t total_pages = 0;
  uint64_t resident_pages = 0;
  statm >> total_pages >> resident_pages;
  return resident_pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// Returns the memory that counts toward a limit and that the kernel cannot reclaim, which excludes pages of mapped
// files.
uint64_t UnreclaimableBytes() {
  std::ifstream status("/proc/self/status");
  uint64_t kibibytes = 0;
  for (std::string word; status >> word;) {
    if (word != "RssAnon:" && word != "RssShmem:") continue;
    uint64_t of_kind = 0;
    status >> of_kind;
    kibibytes += of_kind;
  }
  return kibibytes * 1024;
}

uint64_t OpenFiles() {
  std::error_code error;
  uint64_t count = 0;
  for (auto it = std::filesystem::directory_iterator("/proc/self/fd", error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    ++count;
  }
  return count;
}

}  // namespace

uint64_t PeakResidentBytes() { return static_cast<uint64_t>(Usage().ru_maxrss) * 1024; }

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
  const rusage usage = Usage();
  resident_bytes_.Set(static_cast<double>(ResidentBytes()));
  unreclaimable_bytes_.Set(static_cast<double>(UnreclaimableBytes()));
  SetMemoryLimit(MemoryLimitBytes());
  peak_resident_bytes_.Set(static_cast<double>(usage.ru_maxrss) * 1024);
  CountProcessorTime(Seconds(usage.ru_utime) + Seconds(usage.ru_stime));
  open_files_.Set(static_cast<double>(OpenFiles()));
}

// Never decreases the counter: overlapping refreshes may arrive in a different order than they read the time.
void ProcessMetrics::CountProcessorTime(double seconds_so_far) {
  MutexLock lock(&mutex_);
  if (seconds_so_far <= counted_cpu_seconds_) return;
  cpu_seconds_.Add(seconds_so_far - counted_cpu_seconds_);
  counted_cpu_seconds_ = seconds_so_far;
}

// Called at every refresh, because limits are set, changed and removed while a process runs.
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
