// The servers of each partition.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "services/client/describe.h"
#include "services/client/session.h"
#include "services/rpc/callee.h"

namespace espalier::client {

// The replicas of one partition: all have its immutable data, only the first has mutable tensors.
struct ServerGroup {
  std::vector<std::shared_ptr<rpc::Peer>> peers;
  // By peer; absent until the peer has responded. At least one is present after FindServers.
  std::vector<std::optional<ServerDescription>> descriptions = {};

  const ServerDescription& description() const;  // of the first peer that responded
  // Returns the peers as replicas, those on `machine` marked as near; peers without a response count as far.
  std::shared_ptr<rpc::Replicas> ReplicasSeenFrom(const std::string& machine) const;
};

// Requests the descriptions of all servers until one of every partition has responded, and checks that they are of one
// partitioning. Returns them in the order of partitions. Errors are those of Connect (session.h).
Result<std::vector<ServerGroup>> FindServers(const SessionOptions& options, Deadline deadline);

}  // namespace espalier::client
