// The description that a graph server returns of itself.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "espalier/graph/v1/graph.pb.h"
#include "services/rpc/channel.h"
#include "services/sampler/routing/partitioned_graph.h"

namespace espalier::client {

struct ServerDescription {
  std::string partition_key;
  PartitionId partition;
  uint64_t incarnation = 0;
  std::string graph_name;
  sampler::GraphDescription graph;
  std::optional<graph::v1::MappedFiles> mapped_files;  // present if the server allows its files to be mapped
  std::string machine;                                 // identity of its machine (rpc/machine.h); empty: unknown
  std::vector<std::string> warnings;                   // of the partitioning (format::Manifest)
};

// Requests the descriptions of servers in parallel; waits for each until it is up or the deadline has passed. Returns a
// description or an error per server. `job` is the job whose incarnation is requested; empty: the unnamed job.
std::vector<Result<ServerDescription>> DescribeServers(const std::vector<std::shared_ptr<rpc::Peer>>& peers,
                                                       const std::string& job, Deadline deadline);
// Parses a reply, which is untrusted. InvalidArgument names the invalid field.
Result<ServerDescription> DescriptionOf(const graph::v1::DescribeResponse& response);

}  // namespace espalier::client
