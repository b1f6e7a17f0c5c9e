// Which requests are meant for this server.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "espalier/tensor/v1/tensor.pb.h"
#include "services/base/status.h"
#include "services/graph/ids.h"

namespace espalier::server {

// Refuses other partitionings and partitions (FailedPrecondition), and incarnations older than the newest one seen
// (Aborted): once a job has been restarted, what is left of its past can do no harm. Thread-safe.
class RequestGate {
 public:
  RequestGate(std::string partition_key, PartitionId partition, uint64_t incarnation);

  Status Admit(const tensor::v1::RequestIdentity& identity);

  const std::string& partition_key() const { return partition_key_; }
  PartitionId partition() const { return partition_; }
  uint64_t newest_incarnation() const { return newest_incarnation_.load(); }

 private:
  const std::string partition_key_;
  const PartitionId partition_;
  std::atomic<uint64_t> newest_incarnation_;  // atomic, because every request may raise it
};

}  // namespace espalier::server
