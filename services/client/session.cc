#include "services/client/session.h"

#include <algorithm>
#include <utility>

#include "services/client/mapped_partition.h"
#include "services/client/standalone.h"
#include "services/rpc/address.h"

namespace espalier::client {
namespace {

struct Server {
  std::shared_ptr<rpc::Peer> peer;
  ServerDescription description;
};

Result<std::vector<Server>> DescribeAll(const SessionOptions& options, Deadline deadline) {
  if (options.addresses.empty()) return InvalidArgument("no graph server's address was given");
  std::vector<Server> servers;
  rpc::ChannelSettings channel = options.channel;
  channel.server_role = pki::PeerRole::kServer;
  for (const std::string& address : options.addresses) {
    RETURN_IF_ERROR(rpc::ParseHostPort(address).status());
    servers.push_back({std::make_shared<rpc::Peer>("graph server", address, channel), {}});
  }
  for (Server& server : servers) {
    ASSIGN_OR_RETURN(server.description, DescribeServer(server.peer, options.job, deadline));
  }
  return servers;
}

// Every server of one partitioning, every partition once; puts them in partition order.
Status CheckTheyBelongTogether(const SessionOptions& options, std::vector<Server>& servers) {
  const ServerDescription& first = servers.front().description;
  const std::string& key = options.partition_key.empty() ? first.partition_key : options.partition_key;
  for (const Server& server : servers) {
    if (server.description.partition_key != key) {
      return FailedPrecondition(server.peer->address + " holds partitioning '" + server.description.partition_key +
                                "', expected '" + key + "'");
    }
    if (!(server.description.graph.book == first.graph.book)) {
      return FailedPrecondition(server.peer->address + " has another partition book than " +
                                servers.front().peer->address);
    }
  }
  std::sort(servers.begin(), servers.end(), [](const Server& a, const Server& b) {
    return a.description.partition.value < b.description.partition.value;
  });
  const uint32_t num_partitions = servers.front().description.graph.book.num_partitions();
  for (size_t i = 0; i < servers.size() || i < num_partitions; ++i) {
    if (i < servers.size() && i < num_partitions && servers[i].description.partition.value == i) continue;
    return FailedPrecondition(std::to_string(servers.size()) + " servers for " + std::to_string(num_partitions) +
                              " partitions: each partition needs exactly one");
  }
  return Status();
}

// Null where the files cannot be mapped and that is allowed.
Result<std::shared_ptr<sampler::PartitionAccess>> MapIfPossible(const Server& server, Access access) {
  const std::shared_ptr<sampler::PartitionAccess> none;
  if (access == Access::kRpc) return none;
  const auto& files = server.description.mapped_files;
  if (!files || !SharesFilesWith(*files)) {
    if (access == Access::kAuto) return none;
    return FailedPrecondition("the files of " + server.peer->address +
                              " cannot be mapped: it runs on another host or as another user, or does not offer them");
  }
  return MapPartition(server.description).While("mapping the files of " + server.peer->address);
}

}  // namespace

const char* NameOf(Access access) {
  switch (access) {
    case Access::kAuto: return "auto";
    case Access::kRpc: return "rpc";
    case Access::kMapped: return "mapped";
  }
  return "auto";
}

Result<Access> ParseAccess(const std::string& text) {
  for (const Access access : {Access::kAuto, Access::kRpc, Access::kMapped}) {
    if (text == NameOf(access)) return access;
  }
  return InvalidArgument("access '" + text + "': expected auto, rpc or mapped");
}

Result<Session> Connect(const SessionOptions& options) {
  if (!options.standalone.partitions_uri.empty()) return OpenStandalone(options);
  ASSIGN_OR_RETURN(std::vector<Server> servers, DescribeAll(options, Deadline::After(options.connect_timeout)));
  RETURN_IF_ERROR(CheckTheyBelongTogether(options, servers));

  Session session;
  const ServerDescription& first = servers.front().description;
  session.graph_name = first.graph_name;
  session.partition_key = first.partition_key;
  session.incarnation = std::make_shared<Incarnation>(options.incarnation.value_or(0));
  std::vector<std::shared_ptr<sampler::PartitionAccess>> partitions;
  for (const Server& server : servers) {
    if (!options.incarnation) session.incarnation->RaiseTo(server.description.incarnation);
    RemotePartitionOptions remote;
    remote.partition_key = session.partition_key;
    remote.partition = server.description.partition;
    remote.job = options.job;
    remote.incarnation = session.incarnation;
    remote.reply_bytes_per_call = std::max<size_t>(1, options.reply_bytes_per_call);
    remote.calls_in_flight = std::max<size_t>(1, options.calls_in_flight);
    std::shared_ptr<sampler::PartitionAccess> asks_server =
        std::make_shared<RemotePartition>(server.peer, first.graph.book, remote);
    ASSIGN_OR_RETURN(std::shared_ptr<sampler::PartitionAccess> mapped, MapIfPossible(server, options.access));
    session.access.push_back(mapped ? Access::kMapped : Access::kRpc);
    partitions.push_back(mapped ? std::make_shared<MappedPartition>(mapped, asks_server) : asks_server);
  }
  session.graph = std::make_shared<sampler::PartitionedGraph>(first.graph, std::move(partitions));
  return session;
}

}  // namespace espalier::client
