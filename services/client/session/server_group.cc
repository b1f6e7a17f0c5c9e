// A query of a partition with one server has the whole connect timeout. Partitions with several replicas are queried
// together in rounds of replicas_timeout until one replica of each has responded; slower replicas have no description.
// Errors that a retry cannot repair end the discovery at once.
#include "services/client/session/server_group.h"

#include <algorithm>
#include <utility>

#include "services/rpc/address.h"
#include "services/rpc/address_range.h"

namespace espalier::client {
namespace {

Result<std::vector<ServerGroup>> MakeGroups(const SessionOptions& options) {
  if (options.addresses.empty()) return InvalidArgument("no address of a graph server was given");
  rpc::ChannelSettings channel = options.channel;
  channel.server_role = pki::PeerRole::kServer;
  std::vector<ServerGroup> groups;
  for (const std::string& joined : options.addresses) {
    ServerGroup group;
    for (const std::string& address : rpc::SplitAddresses(joined)) {
      RETURN_IF_ERROR(rpc::ParseHostPort(address).status());
      group.peers.push_back(std::make_shared<rpc::Peer>("graph server", address, channel));
    }
    group.descriptions.resize(group.peers.size());
    groups.push_back(std::move(group));
  }
  return groups;
}

bool HasAnswered(const ServerGroup& group) {
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
// retry nor another replica can repair, or if in the last round no server of a group responds.
Status QueryTogether(const std::vector<ServerGroup*>& groups, const std::string& job, Deadline deadline, bool is_last) {
  std::vector<std::shared_ptr<rpc::Peer>> peers;
  for (const ServerGroup* group : groups) peers.insert(peers.end(), group->peers.begin(), group->peers.end());
  std::vector<Result<ServerDescription>> answers = DescribeServers(peers, job, deadline);
  auto answer = answers.begin();
  for (ServerGroup* group : groups) {
    Status first_failure;
    for (std::optional<ServerDescription>& description : group->descriptions) {
      if (answer->ok()) {
        description = **answer;
      } else if (!IsTransientError(answer->status())) {
        return answer->status();
      } else if (first_failure.ok()) {
        first_failure = answer->status();
      }
      ++answer;
    }
    if (is_last && !HasAnswered(*group)) return ToUnavailable(first_failure);
  }
  return Status();
}

// Waits until the deadline for the servers of partitions with a single server. For a partition with several replicas
// one response is enough, and slow replicas are left out.
Status RequestFromAll(std::vector<ServerGroup>& groups, const SessionOptions& options, Deadline deadline) {
  for (ServerGroup& group : groups) {
    if (group.peers.size() == 1) RETURN_IF_ERROR(QueryTogether({&group}, options.job, deadline, /*is_last=*/true));
  }
  while (true) {
    std::vector<ServerGroup*> silent;
    for (ServerGroup& group : groups) {
      if (!HasAnswered(group)) silent.push_back(&group);
    }
    if (silent.empty()) return Status();
    const bool is_last = deadline.Remaining() <= options.replicas_timeout;
    RETURN_IF_ERROR(QueryTogether(silent, options.job, deadline.AtMost(options.replicas_timeout), is_last));
    if (is_last) return Status();
  }
}

// Checks that a server holds the expected partitioning and the same partition as the other replicas of its group.
Status CheckPeer(const rpc::Peer& peer, const ServerDescription& description, const std::string& key,
                 const ServerGroup& group, const ServerGroup& first) {
  if (description.partition_key != key) {
    return FailedPrecondition(peer.address + " holds partitioning '" + description.partition_key + "', expected '" +
                              key + "'");
  }
  if (!(description.graph.book == first.description().graph.book)) {
    return FailedPrecondition(peer.address + " has a different partition book than " + first.peers.front()->address);
  }
  if (description.partition != group.description().partition) {
    return FailedPrecondition(peer.address + " holds partition " + std::to_string(description.partition.value) +
                              ", expected partition " + std::to_string(group.description().partition.value) +
                              " as the servers that it is joined with by '|'");
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
    return FailedPrecondition(std::to_string(groups.size()) + " servers for " + std::to_string(num_partitions) +
                              " partitions: each partition needs exactly one address, or several joined by '|'");
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
  RETURN_IF_ERROR(RequestFromAll(groups, options, deadline));
  RETURN_IF_ERROR(CheckSameGraph(options, groups));
  return groups;
}

}  // namespace espalier::client
