// A run's graph servers by number: replica by replica, and partition by partition within one. With 2 partitions,
// servers 0 and 1 serve partitions 0 and 1, servers 2 and 3 are their replicas.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/job/dist_training.h"
#include "services/rpc/address_range.h"

namespace espalier::run {

struct ServerNumbering {
  uint32_t partitions = 1;
  uint32_t replicas = 1;  // servers of each partition

  uint32_t count() const { return partitions * replicas; }
  uint32_t PartitionOf(uint32_t server) const { return server % partitions; }
  uint32_t ReplicaOf(uint32_t server) const { return server / partitions; }
};

inline ServerNumbering ServersOf(const job::DistTraining& job) {
  return {.partitions = job.graph.partitions.count, .replicas = job.server_replicas_per_partition};
}

// By partition, as clients are told: `addresses` of all servers by number, those of a partition joined, replica 0
// first. Empty where there are none.
inline std::vector<std::string> AddressesByPartition(const ServerNumbering& servers,
                                                     const std::vector<std::string>& addresses) {
  std::vector<std::string> joined;
  for (uint32_t server = 0; server < addresses.size(); ++server) {
    if (servers.ReplicaOf(server) == 0) {
      joined.push_back(addresses[server]);
    } else {
      joined[servers.PartitionOf(server)] += rpc::kAddressSeparator + addresses[server];
    }
  }
  return joined;
}

}  // namespace espalier::run
