// A session: connections to the graph servers of a job, or partitions that this process opens itself.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/client/remote/incarnation.h"
#include "services/client/session/session_options.h"
#include "services/sampler/routing/partitioned_graph.h"

namespace espalier::client {

// A graph and how it is accessed. Thread-safe. The graph is shared and may outlive the session.
struct Session {
  std::string graph_name;
  std::vector<std::string> warnings;  // warnings of the partitioning (format::Manifest)
  std::string partition_key;
  std::shared_ptr<Incarnation> incarnation;
  std::vector<Access> access;  // by partition: kRpc or kMapped; all kMapped in standalone mode
  std::shared_ptr<sampler::PartitionedGraph> graph;
};

// Connects to the graph servers and blocks until a server of every partition is up. InvalidArgument: missing or
// malformed addresses. FailedPrecondition: servers hold different partitionings, a partition is missing or given twice,
// addresses joined by '|' hold different partitions, the partition key differs from options.partition_key,
// options.access is kMapped and the files of a partition cannot be mapped, or this process was forked from one that
// uses gRPC. Unavailable: a partition has no server that responds. In standalone mode Connect opens the partitions
// instead and contacts no server; errors are those of OpenStandalone (standalone.h).
Result<Session> Connect(const SessionOptions& options);

}  // namespace espalier::client
