// Connects to the graph servers of a job, or opens its partitions in this process.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "services/client/describe.h"
#include "services/client/remote/remote_partition.h"
#include "services/sampler/routing/partitioned_graph.h"
#include "services/storage/local_cache.h"
#include "services/storage/store_settings.h"

namespace espalier::client {

enum class Access {
  kAuto,    // map the files of a partition if its server is on the same host and of the same user, else use RPC
  kRpc,     // always use RPC
  kMapped,  // map all files; FailedPrecondition where that is not possible
};
const char* NameOf(Access access);  // "auto", "rpc", "mapped"
Result<Access> ParseAccess(const std::string& text);

// Standalone mode: this process opens the partitions itself, without graph servers (standalone.h).
struct StandaloneOptions {
  std::string partitions_uri;     // folder with manifest.json; empty: use graph servers
  storage::StoreSettings stores;  // of an s3:// URI
  storage::LocalCacheOptions
      cache;  // for files that cannot be mapped in place; without a folder, all files must be local
};

struct SessionOptions {
  // One entry per partition, in any order: "host:port" of its server, or of several replicas joined by '|'. Immutable
  // data is read from any replica that can be reached, preferably on this machine; mutable tensors are on the first
  // replica.
  std::vector<std::string> addresses;
  StandaloneOptions standalone;  // instead of addresses
  std::string partition_key;     // empty: that of the servers, which must agree
  // Name of the job, which separates tensors and incarnations on servers that several jobs use; empty: the unnamed job.
  std::string job;
  // Incarnation of the job; servers refuse it once they have seen a newer one. Absent: the newest that they have seen.
  std::optional<uint64_t> incarnation;
  Access access = Access::kAuto;
  std::chrono::milliseconds connect_timeout{60'000};  // until one server of every partition is up
  std::chrono::milliseconds replicas_timeout{2'000};  // for further replicas of a partition once one is up; more than 0
  size_t reply_bytes_per_call = rpc::kPreferredReplyBytes;
  size_t calls_in_flight = 4;
  std::string machine;  // identity of this machine, compared with that of the servers; empty: rpc::ThisMachine()
  rpc::ChannelSettings channel;  // its stop ends Connect and every later query with CANCELLED
};

// A connected graph. Thread-safe; `graph` may outlive the session.
struct Session {
  std::string graph_name;
  std::vector<std::string> warnings;  // of the partitioning (format::Manifest)
  std::string partition_key;
  std::shared_ptr<Incarnation> incarnation;
  std::vector<Access> access;  // by partition: kRpc or kMapped; all kMapped in standalone mode
  std::shared_ptr<sampler::PartitionedGraph> graph;
};

// Blocks until every partition has a server that is up. InvalidArgument: an invalid address; FailedPrecondition:
// servers of different partitionings, a partition that is missing or listed twice, replicas of different partitions
// joined, or a partition key other than the requested one; Unavailable: no server of a partition responds. Standalone
// mode sends no request (standalone.h).
Result<Session> Connect(const SessionOptions& options);

}  // namespace espalier::client
