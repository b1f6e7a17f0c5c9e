// A fleet whose processes all run on this machine.
#pragma once

#include "services/base/shared_memory.h"
#include "services/runner/run/fleet.h"

namespace espalier::run {

// Not thread-safe.
class LocalFleet final : public Fleet {
 public:
  // `stop` must outlive this object. `site` is the site of every child, except for local_rank, which GetSite sets.
  LocalFleet(const telemetry::StopSignal& stop, Site site) : stop_(stop), site_(std::move(site)) {}
  // Kills the children that still run.
  ~LocalFleet() override = default;

  // Creates `bytes` of memory for feature rows that trainers share. Trainers that are started after this call inherit
  // its descriptor (ESPALIER_SHARED_ROW_MEMORY). 0 bytes: none.
  Status ShareRows(uint64_t bytes);
  // Sets additional descriptors: WaitForEvent also returns when one of them is readable.
  void Watch(std::vector<int> descriptors) { watched_ = std::move(descriptors); }

  Site GetSite(ChildId child) const override {
    Site site = site_;
    site.local_rank = child.index;
    return site;
  }
  Status ProvidePartitions(const std::string& uri, std::optional<Deadline>) override {
    site_.partitions_uri = uri;
    return Status();
  }
  Status Start(ChildId child, const process::ChildSpec& spec, const std::string& ready_path) override;
  FleetEvents Poll() override;
  void WaitForEvent(std::chrono::milliseconds longest) override;
  void Signal(ChildId child, int signal_number) override;
  std::optional<Awaited> LongestAwaited() const override;
  std::map<ChildId, pid_t> Pids() const override;
  std::vector<ChildId> Running() override;
  std::optional<process::ExitState> ExitState(ChildId child) override;
  Result<std::string> FetchStatus(ChildId child) override;

 private:
  struct Member {
    process::ChildProcess process;
    std::string ready_path;
    SteadyTime started;
    bool is_ready = false;
    bool end_reported = false;
    Status ready_error;
    std::string admin_address;  // empty until the child is ready
  };

  void PollReady(ChildId child, Member& member, FleetEvents* events);

  const telemetry::StopSignal& stop_;
  Site site_;
  std::vector<int> watched_;
  Descriptor shared_rows_;  // SharedMemory; not open: trainers share no rows
  std::map<ChildId, Member> members_;
};

// Returns the number of threads, at least 2, of each of `num_servers` graph servers that share `processors` processors.
unsigned ServerThreads(unsigned processors, uint32_t num_servers);

}  // namespace espalier::run
