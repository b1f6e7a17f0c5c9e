// Description of the data that a graph server holds.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "espalier/graph/v1/graph.pb.h"
#include "services/rpc/channel.h"
#include "services/sampler/routing/partitioned_graph.h"

namespace espalier::client {

// Response of a graph server to Describe.
struct ServerDescription {
  std::string partition_key;
  PartitionId partition;
  uint64_t incarnation = 0;  // newest incarnation of the job that the server has seen
  std::string graph_name;
  sampler::GraphDescription graph;
  std::optional<graph::v1::MappedFiles> mapped_files;  // set if the server offers its files for mapping
  std::string machine;                                 // machine of the server (rpc/machine.h); empty: not reported
  std::vector<std::string> warnings;                   // warnings of the partitioning (format::Manifest)
};

// Queries the servers concurrently, with retries until each server has responded or the deadline has passed. Returns a
// description or an error for each server, in the order of `peers`. `job` selects the incarnation that servers report;
// empty: the job without a name.
std::vector<Result<ServerDescription>> DescribeServers(const std::vector<std::shared_ptr<rpc::Peer>>& peers,
                                                       const std::string& job, Deadline deadline);
// Converts a response to a ServerDescription. The response is untrusted input. InvalidArgument: it is inconsistent.
Result<ServerDescription> ParseDescription(const graph::v1::DescribeResponse& response);

}  // namespace espalier::client
