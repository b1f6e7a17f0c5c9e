#include "services/server/request_gate.h"

#include <algorithm>
#include <utility>

#include "services/graph/schema.h"

namespace espalier::server {

RequestGate::RequestGate(std::string partition_key, PartitionId partition, std::string job, uint64_t incarnation)
    : partition_key_(std::move(partition_key)),
      partition_(partition),
      job_(std::move(job)),
      newest_incarnation_(incarnation) {}

Status RequestGate::Admit(const tensor::v1::RequestIdentity& identity) {
  if (identity.partition_key() != partition_key_) {
    return FailedPrecondition("request for partitioning '" + identity.partition_key().substr(0, 64) +
                              "', this server holds '" + partition_key_ + "'");
  }
  if (identity.partition() != partition_.value) {
    return FailedPrecondition("request for partition " + std::to_string(identity.partition()) +
                              ", this server holds partition " + std::to_string(partition_.value));
  }
  const std::string& job = identity.job();
  if (!job.empty()) RETURN_IF_ERROR(graph::CheckName("job", job));
  const uint64_t newest = job == job_ ? RaiseOwn(identity.incarnation()) : RaiseOther(job, identity.incarnation());
  if (identity.incarnation() < newest) {
    return Aborted("request from incarnation " + std::to_string(identity.incarnation()) + " of " +
                   (job.empty() ? "the job without a name" : "job '" + job + "'") + ", which is now in incarnation " +
                   std::to_string(newest));
  }
  return Status();
}

uint64_t RequestGate::NewestIncarnation(const std::string& job) {
  if (job == job_) return newest_incarnation();
  MutexLock lock(&mutex_);
  const auto known = other_jobs_.find(job);
  return known == other_jobs_.end() ? 0 : known->second.newest_incarnation;
}

uint64_t RequestGate::RaiseOwn(uint64_t incarnation) {
  uint64_t newest = newest_incarnation_.load();
  while (incarnation > newest && !newest_incarnation_.compare_exchange_weak(newest, incarnation)) {
  }
  return std::max(newest, incarnation);
}

uint64_t RequestGate::RaiseOther(const std::string& job, uint64_t incarnation) {
  MutexLock lock(&mutex_);
  if (other_jobs_.size() >= kOtherJobs && !other_jobs_.contains(job)) {
    other_jobs_.erase(std::min_element(other_jobs_.begin(), other_jobs_.end(), [](const auto& a, const auto& b) {
      return a.second.last_request < b.second.last_request;
    }));
  }
  OtherJob& known = other_jobs_[job];
  known.last_request = ++num_requests_;
  known.newest_incarnation = std::max(known.newest_incarnation, incarnation);
  return known.newest_incarnation;
}

}  // namespace espalier::server
