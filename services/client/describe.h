// What a graph server says it holds.
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
  std::optional<graph::v1::MappedFiles> mapped_files;  // where the server offers its files for mapping
  std::string machine;                                 // that it runs on (rpc/machine.h); empty: unknown
  std::vector<std::string> warnings;                   // of the partitioning (format::Manifest)
};

// Asks servers at once, waiting for each until it is up or the deadline has passed. By server: what it said, or why it
// said nothing. `job`: whose incarnation is asked for, empty for the job without a name.
std::vector<Result<ServerDescription>> DescribeServers(const std::vector<std::shared_ptr<rpc::Peer>>& peers,
                                                       const std::string& job, Deadline deadline);
// The reply as values. Untrusted input: InvalidArgument names what does not hold.
Result<ServerDescription> DescriptionOf(const graph::v1::DescribeResponse& response);

}  // namespace espalier::client
