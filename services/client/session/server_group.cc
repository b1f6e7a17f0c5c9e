// Partitions with one server are queried one after another, without a limit other than the connect timeout. Partitions
// with several replicas are queried together in rounds of replicas_timeout until one replica of each partition has
// responded; replicas that have not responded by then have no description. Errors that a retry cannot repair end the
// discovery at once.
#include "services/client/session/server_group.h"

#include <algorithm>
#include <utility>

#include "services/base/host_port.h"
#include "services/base/pluralize.h"
#include "services/rpc/address_range.h"

namespace espalier::client {
namespace {

Result<std::vector<ServerGroup>> MakeGroups(const SessionOptions& options) {
  if (options.addresses.empty())
    return InvalidArgument("no address of a graph server was given, expected one for each partition");
  rpc::ChannelSettings channel = options.channel;
  channel.server_role = pki::PeerRole::kServer;
  std::vector<ServerGroup> groups;
  for (const std::string& joined : options.addresses) {
    ServerGroup group;
    for (const std::string& address : rpc::SplitAddresses(joined)) {
      RETURN_IF_ERROR(ParseHostPort(address).status());
      group.peers.push_back(std::make_shared<rpc::Peer>("graph server", address, channel));
    }
    group.descriptions.resize(group.peers.size());
    groups.push_back(std::move(group));
  }
  return groups;
}

bool HasResponded(const ServerGroup& group) {
  return std::any_of(group.descriptions.begin(), group.descriptions.end(),
                     [](const auto& description) { return description.has_value(); });
}

bool IsTransientError(const Status& status) {
  return status.code() == StatusCode::kUnavailable || status.code() == StatusCode::kDeadlineExceeded;
}

// Converts a timeout to Unavailable: a server that does not respond in time counts as unreachable.
Status ToUnavailable(const Status& failure) {
  return failure.code() == StatusCode::kDeadlineExceeded ? Unavailable(failure.message()) : failure;
}

// Queries all servers of these groups concurrently. Returns an error if a server fails with an error that neither a
// retry nor another replica can repair, or, in the last round (`is_last`), if no server of a group responds.
Status QueryTogether(const std::vector<ServerGroup*>& groups, const std::string& job, Deadline deadline, bool is_last) {
  std::vector<std::shared_ptr<rpc::Peer>> peers;
  for (const ServerGroup* group : groups) peers.insert(peers.end(), group->peers.begin(), group->peers.end());
  std::vector<Result<ServerDescription>> responses = DescribeServers(peers, job, deadline);
  auto response = responses.begin();
  for (ServerGroup* group : groups) {
    Status first_failure;
    for (std::optional<ServerDescription>& description : group->descriptions) {
      if (response->ok()) {
        description = **response;
      } else if (!IsTransientError(response->status())) {
        return response->status();
      } else if (first_failure.ok()) {
        first_failure = response->status();
      }
      ++response;
    }
    if (is_last && !HasResponded(*group)) return ToUnavailable(first_failure);
  }
  return Status();
}

// Queries the servers of all groups. The server of a partition with a single server has until the deadline to respond.
// For a partition with several replicas one response is enough.
Status QueryAll(std::vector<ServerGroup>& groups, const SessionOptions& options, Deadline deadline) {
  for (ServerGroup& group : groups) {
    if (group.peers.size() == 1) RETURN_IF_ERROR(QueryTogether({&group}, options.job, deadline, /*is_last=*/true));
  }
  while (true) {
    std::vector<ServerGroup*> unresponsive;
    for (ServerGroup& group : groups) {
      if (!HasResponded(group)) unresponsive.push_back(&group);
    }
    if (unresponsive.empty()) return Status();
    const bool is_last = deadline.Remaining() <= options.replicas_timeout;
    RETURN_IF_ERROR(QueryTogether(unresponsive, options.job, deadline.AtMost(options.replicas_timeout), is_last));
    if (is_last) return Status();
  }
}

// Checks that a server holds the expected partitioning and the same partition as the other replicas of its group.
Status CheckPeer(const rpc::Peer& peer, const ServerDescription& description, const std::string& key,
                 const ServerGroup& group, const ServerGroup& first_group) {
  if (description.partition_key != key) {
    return FailedPrecondition(peer.address + " holds partitioning '" + description.partition_key + "', expected '" +
                              key + "'");
  }
  if (!(description.graph.book == first_group.description().graph.book)) {
    return FailedPrecondition(peer.address + " has a different partition book than " +
                              first_group.peers.front()->address);
  }
  if (description.partition != group.description().partition) {
    return FailedPrecondition(peer.address + " holds partition " + std::to_string(description.partition.value) +
                              ", expected partition " + std::to_string(group.description().partition.value) +
                              ": servers joined by '|' must hold the same partition");
  }
  return Status();
}

// Checks all servers, sorts the groups by partition and checks that every partition has exactly one group.
Status CheckSameGraph(const SessionOptions& options, std::vector<ServerGroup>& groups) {
  const ServerDescription& first = groups.front().description();
  const std::string key = options.partition_key.empty() ? first.partition_key : options.partition_key;
  for (const ServerGroup& group : groups) {
    for (size_t i = 0; i < group.peers.size(); ++i) {
      if (!group.descriptions[i]) continue;
      RETURN_IF_ERROR(CheckPeer(*group.peers[i], *group.descriptions[i], key, group, groups.front()));
    }
  }
  const uint32_t num_partitions = first.graph.book.num_partitions();
  std::sort(groups.begin(), groups.end(), [](const ServerGroup& a, const ServerGroup& b) {
    return a.description().partition.value < b.description().partition.value;
  });
  for (size_t i = 0; i < groups.size() || i < num_partitions; ++i) {
    if (i < groups.size() && i < num_partitions && groups[i].description().partition.value == i) continue;
    const bool is_repeated = i > 0 && i < groups.size() && groups[i].description().partition.value < i;
    const std::string problem = is_repeated ? "partition " + std::to_string(i - 1) + " has several"
                                            : "partition " + std::to_string(i) + " has none";
    return FailedPrecondition(Pluralize(groups.size(), "address") + " of servers for " +
                              std::to_string(num_partitions) + " partitions, and " + problem +
                              ": each partition needs exactly one address, or those of its replicas joined by '|'");
  }
  return Status();
}

}  // namespace

const ServerDescription& ServerGroup::description() const {
  return **std::find_if(descriptions.begin(), descriptions.end(),
                        [](const auto& description) { return description.has_value(); });
}

std::shared_ptr<rpc::Replicas> ServerGroup::ReplicasForMachine(const std::string& machine) const {
  std::vector<bool> near;
  for (const std::optional<ServerDescription>& description : descriptions) {
    near.push_back(description.has_value() && !machine.empty() && description->machine == machine);
  }
  return std::make_shared<rpc::Replicas>(peers, std::move(near));
}

Result<std::vector<ServerGroup>> FindServers(const SessionOptions& options, Deadline deadline) {
  ASSIGN_OR_RETURN(std::vector<ServerGroup> groups, MakeGroups(options));
  RETURN_IF_ERROR(QueryAll(groups, options, deadline));
  RETURN_IF_ERROR(CheckSameGraph(options, groups));
  return groups;
}

}  // namespace espalier::client
