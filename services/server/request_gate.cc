#include "services/server/request_gate.h"

#include <utility>

namespace espalier::server {

RequestGate::RequestGate(std::string partition_key, PartitionId partition, uint64_t incarnation)
    : partition_key_(std::move(partition_key)), partition_(partition), newest_incarnation_(incarnation) {}

Status RequestGate::Admit(const tensor::v1::RequestIdentity& identity) {
  if (identity.partition_key() != partition_key_) {
    return FailedPrecondition("request for partitioning '" + identity.partition_key().substr(0, 64) +
                              "', this server holds '" + partition_key_ + "'");
  }
  if (identity.partition() != partition_.value) {
    return FailedPrecondition("request for partition " + std::to_string(identity.partition()) +
                              ", this server holds partition " + std::to_string(partition_.value));
  }
  uint64_t newest = newest_incarnation_.load();
  while (identity.incarnation() > newest &&
         !newest_incarnation_.compare_exchange_weak(newest, identity.incarnation())) {
  }
  if (identity.incarnation() < newest) {
    return Aborted("request from incarnation " + std::to_string(identity.incarnation()) +
                   " of the job, which is now in incarnation " + std::to_string(newest));
  }
  return Status();
}

}  // namespace espalier::server
