#include "services/telemetry/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

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
    : resident_bytes_(
          registry.AddGauge("espalier_process_resident_bytes", "Memory resident now, shared pages included.")),
      peak_resident_bytes_(
          registry.AddGauge("espalier_process_peak_resident_bytes", "Largest resident memory so far.")),
      cpu_seconds_(registry.AddGauge("espalier_process_cpu_seconds", "Processor time used, user and system.")),
      open_files_(registry.AddGauge("espalier_process_open_files", "File descriptors open now.")) {}

void ProcessMetrics::Refresh() {
  const rusage usage = Usage();
  resident_bytes_.Set(static_cast<double>(ResidentBytes()));
  peak_resident_bytes_.Set(static_cast<double>(usage.ru_maxrss) * 1024);
  cpu_seconds_.Set(Seconds(usage.ru_utime) + Seconds(usage.ru_stime));
  open_files_.Set(static_cast<double>(OpenFiles()));
}

}  // namespace espalier::telemetry
