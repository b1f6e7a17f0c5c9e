// The servers of each partition, found by their addresses.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "services/client/describe.h"
#include "services/client/session.h"
#include "services/rpc/callee.h"

namespace espalier::client {

// The servers of one partition: all have its immutable data, the first alone what can be written.
struct ServerGroup {
  std::vector<std::shared_ptr<rpc::Peer>> peers;
  // By peer; absent where nobody has answered yet. At least one is there once the servers are found.
  std::vector<std::optional<ServerDescription>> descriptions = {};

  const ServerDescription& description() const;  // of the first that answered
  // The peers, those on `machine` near. What has not answered counts as far away.
  std::shared_ptr<rpc::Replicas> ReplicasSeenFrom(const std::string& machine) const;
};

// Asks all servers what they hold, until one of every partition has answered. In partition order; they belong together.
// Errors are those of Connect (session.h).
Result<std::vector<ServerGroup>> FindServers(const SessionOptions& options, Deadline deadline);

}  // namespace espalier::client
