// Numbering of a run's graph servers: ordered by replica, then by process within the replica, then by partition. With 2
// partitions, servers 0 and 1 serve partitions 0 and 1 and hold the mutable tensors. If a replica has 2 processes,
// servers 2 and 3 are the second processes, on the machines of servers 0 and 1, and servers 4 and 5 are the first
// processes of the next replica.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/job/dist_training.h"
#include "services/rpc/address_range.h"

namespace espalier::run {

struct ServerNumbering {
  uint32_t partitions = 1;
  uint32_t replicas = 1;   // of each partition, on different machines if there are enough
  uint32_t processes = 1;  // of each replica, all on one machine

  uint32_t count() const { return partitions * replicas * processes; }
  uint32_t PartitionFor(uint32_t server) const { return server % partitions; }
  uint32_t ReplicaFor(uint32_t server) const { return server / (partitions * processes); }
};

static_assert(job::kMaxServerProcesses == rpc::kMaxAddresses);

inline ServerNumbering NumberServers(const job::DistTraining& job) {
  return {.partitions = job.graph.partitions.count,
          .replicas = job.server_replicas_per_partition,
          .processes = job.server_containers_per_pod};
}

// Returns the addresses as clients expect them: one element per partition, with the addresses of its servers joined in
// ascending order of their numbers. `addresses` are those of all servers by number; if it is empty, so is the result.
inline std::vector<std::string> AddressesByPartition(const ServerNumbering& servers,
                                                     const std::vector<std::string>& addresses) {
  std::vector<std::string> joined;
  for (uint32_t server = 0; server < addresses.size(); ++server) {
    if (server < servers.partitions) {
      joined.push_back(addresses[server]);
    } else {
      joined[servers.PartitionFor(server)] += rpc::kAddressSeparator + addresses[server];
    }
  }
  return joined;
}

}  // namespace espalier::run
