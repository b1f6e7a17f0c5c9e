// Discovery of the graph servers of each partition from their addresses.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "services/client/session/describe.h"
#include "services/client/session/session.h"
#include "services/rpc/callee.h"

namespace espalier::client {

// The replicas of one partition. All have its immutable data; only the first has writable data.
struct ServerGroup {
  std::vector<std::shared_ptr<rpc::Peer>> peers;
  // By peer; absent if the server has not responded. Groups from FindServers have at least one description.
  std::vector<std::optional<ServerDescription>> descriptions = {};

  // Returns the first description in `descriptions` that is present; there must be one.
  const ServerDescription& description() const;
  // Returns the peers as replicas. Peers that have responded and run on `machine` are marked as near.
  std::shared_ptr<rpc::Replicas> ReplicasForMachine(const std::string& machine) const;
};

// Returns the server groups in partition order. Queries the descriptions of all servers until at least one server of
// every partition has responded, and checks that the servers hold the same partitioning. Errors are those of Connect
// (session.h).
Result<std::vector<ServerGroup>> FindServers(const SessionOptions& options, Deadline deadline);

}  // namespace espalier::client
