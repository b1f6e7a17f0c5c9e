// Checks that a request is meant for this server.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>

#include "espalier/tensor/v1/tensor.pb.h"
#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/graph/ids.h"

namespace espalier::server {

// Refuses requests for other partitionings or partitions (FailedPrecondition). Refuses requests of an incarnation older
// than the newest one seen of the same job (Aborted), so that late requests of an earlier incarnation have no effect
// after a restart. Thread-safe.
class RequestGate {
 public:
  // Maximum number of jobs, besides the server's own job, whose newest incarnation is remembered. The job whose last
  // request is oldest is forgotten first.
  static constexpr size_t kOtherJobs = 1024;

  // `job` is the job that the server was started for, `incarnation` its incarnation. `job` may be empty.
  RequestGate(std::string partition_key, PartitionId partition, std::string job, uint64_t incarnation);

  // Returns OK, or why the request is refused. Remembers the request's incarnation if it is the newest of its job.
  Status Admit(const tensor::v1::RequestIdentity& identity);

  const std::string& partition_key() const { return partition_key_; }
  PartitionId partition() const { return partition_; }
  // Returns the newest incarnation seen of the server's own job.
  uint64_t newest_incarnation() const { return newest_incarnation_.load(); }
  // Returns the newest incarnation seen of a job; 0 if the job has not been seen or has been forgotten.
  uint64_t NewestIncarnation(const std::string& job) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct OtherJob {
    uint64_t newest_incarnation = 0;
    uint64_t last_request = 0;  // value of num_requests_ at the job's last request
  };
  // Records an incarnation and returns the newest one recorded of the job.
  uint64_t RaiseOwn(uint64_t incarnation);
  uint64_t RaiseOther(const std::string& job, uint64_t incarnation) ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string partition_key_;
  const PartitionId partition_;
  const std::string job_;
  std::atomic<uint64_t> newest_incarnation_;  // atomic, because every request may raise it
  Mutex mutex_;
  std::map<std::string, OtherJob> other_jobs_ ABSL_GUARDED_BY(mutex_);
  uint64_t num_requests_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace espalier::server
