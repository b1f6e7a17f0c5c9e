// Connect finds the servers (server_group.h), checks that they hold one partitioning, and creates a RemotePartition per
// partition. If the files of a server can be mapped, a MappedPartition answers queries of immutable data in this
// process and forwards all other calls to the RemotePartition.
#include "services/client/session/session.h"

#include <algorithm>
#include <utility>

#include "services/client/remote/remote_partition.h"
#include "services/client/session/mapped_partition.h"
#include "services/client/session/server_group.h"
#include "services/client/session/standalone.h"
#include "services/rpc/forked.h"
#include "services/rpc/machine.h"

namespace espalier::client {
namespace {

// Maps the files of the first server in the group that offers them and runs on this host as the same user
// (RunsOnServerHost). Returns null with Access::kRpc, and with kAuto if there is no such server. An error of mapping is
// returned.
Result<std::shared_ptr<sampler::PartitionAccess>> MapIfPossible(const ServerGroup& group, Access access) {
  const std::shared_ptr<sampler::PartitionAccess> none;
  if (access == Access::kRpc) return none;
  for (size_t i = 0; i < group.peers.size(); ++i) {
    const std::optional<ServerDescription>& description = group.descriptions[i];
    if (!description || !description->mapped_files || !RunsOnServerHost(*description->mapped_files)) continue;
    return MapPartition(*description).While("mapping the files of " + group.peers[i]->address);
  }
  if (access == Access::kAuto) return none;
  const std::string others = group.peers.size() > 1 ? " and its replicas" : "";
  return FailedPrecondition("the files of " + group.peers.front()->address + others +
                            " cannot be mapped: expected a server that runs on this host as this user and offers its "
                            "files");
}

}  // namespace

const char* ToString(Access access) {
  switch (access) {
    case Access::kAuto: return "auto";
    case Access::kRpc: return "rpc";
    case Access::kMapped: return "mapped";
  }
  return "auto";
}

Result<Access> ParseAccess(const std::string& text) {
  for (const Access access : {Access::kAuto, Access::kRpc, Access::kMapped}) {
    if (text == ToString(access)) return access;
  }
  return InvalidArgument("access '" + text + "': expected auto, rpc or mapped");
}

Result<Session> Connect(const SessionOptions& options) {
  if (!options.standalone.partitions_uri.empty()) return OpenStandalone(options);
  RETURN_IF_ERROR(rpc::CheckNotForked());
  ASSIGN_OR_RETURN(const std::vector<ServerGroup> groups,
                   FindServers(options, Deadline::After(options.connect_timeout)));

  Session session;
  const ServerDescription& first = groups.front().description();
  session.graph_name = first.graph_name;
  session.warnings = first.warnings;
  session.partition_key = first.partition_key;
  session.incarnation = std::make_shared<Incarnation>(options.incarnation.value_or(0));
  const std::string machine = options.machine.empty() ? rpc::ThisMachine() : options.machine;
  std::vector<std::shared_ptr<sampler::PartitionAccess>> partitions;
  for (const ServerGroup& group : groups) {
    for (const std::optional<ServerDescription>& description : group.descriptions) {
      if (description && !options.incarnation) session.incarnation->RaiseTo(description->incarnation);
    }
    RemotePartitionOptions remote;
    remote.partition_key = session.partition_key;
    remote.partition = group.description().partition;
    remote.job = options.job;
    remote.incarnation = session.incarnation;
    remote.reply_bytes_per_call = std::max<size_t>(1, options.reply_bytes_per_call);
    remote.calls_in_flight = std::max<size_t>(1, options.calls_in_flight);
    if (group.peers.size() > 1) remote.replicas = group.ReplicasForMachine(machine);
    std::shared_ptr<sampler::PartitionAccess> remote_partition =
        std::make_shared<RemotePartition>(group.peers.front(), first.graph.book, remote);
    ASSIGN_OR_RETURN(std::shared_ptr<sampler::PartitionAccess> mapped, MapIfPossible(group, options.access));
    session.access.push_back(mapped ? Access::kMapped : Access::kRpc);
    partitions.push_back(mapped ? std::make_shared<MappedPartition>(mapped, remote_partition) : remote_partition);
  }
  session.graph = std::make_shared<sampler::PartitionedGraph>(first.graph, std::move(partitions));
  return session;
}

}  // namespace espalier::client
