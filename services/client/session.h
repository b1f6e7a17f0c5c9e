// Connecting to a job's graph servers, or opening its partitions in this process.
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
  kAuto,    // map a partition's files where the server is on the same host and of the same user, else ask by RPC
  kRpc,     // always ask by RPC
  kMapped,  // map all files; FailedPrecondition where that is not possible
};
const char* NameOf(Access access);  // "auto", "rpc", "mapped"
Result<Access> ParseAccess(const std::string& text);

// Partitions that this process opens itself: standalone mode, without graph servers (standalone.h).
struct StandaloneOptions {
  std::string partitions_uri;        // of the folder with manifest.json; empty: graph servers are asked
  storage::StoreSettings stores;     // of an s3:// URI
  storage::LocalCacheOptions cache;  // of files that cannot be mapped where they lie; no folder: there must be none
};

struct SessionOptions {
  // By partition, in any order: "host:port" of its server, or of several joined by '|'. Immutable data is asked of any
  // of them that can be reached, first of those on this machine; what can be written is at the first of them.
  std::vector<std::string> addresses;
  StandaloneOptions standalone;  // in place of addresses
  std::string partition_key;     // empty: whatever the servers hold, as long as they agree
  // Whose tensors and incarnation are meant, on servers that several jobs use; empty: the job without a name.
  std::string job;
  // The job's incarnation: servers refuse it once they have seen a newer one. Absent: the newest that they have seen.
  std::optional<uint64_t> incarnation;
  Access access = Access::kAuto;
  std::chrono::milliseconds connect_timeout{60'000};  // for a server of every partition to be up
  std::chrono::milliseconds replicas_timeout{2'000};  // for the others of a partition where one is; more than 0
  size_t reply_bytes_per_call = rpc::kPreferredReplyBytes;
  size_t calls_in_flight = 4;
  std::string machine;           // that this process runs on, as servers say theirs; empty: rpc::ThisMachine()
  rpc::ChannelSettings channel;  // its stop ends Connect, and every later question, with CANCELLED
};

// A graph over its servers. Thread-safe; the graph outlives the session where somebody still holds it.
struct Session {
  std::string graph_name;
  std::vector<std::string> warnings;  // of the partitioning (format::Manifest)
  std::string partition_key;
  std::shared_ptr<Incarnation> incarnation;
  std::vector<Access> access;  // by partition: kRpc or kMapped; all kMapped in standalone mode
  std::shared_ptr<sampler::PartitionedGraph> graph;
};

// Waits until a server of every partition is up. InvalidArgument: addresses; FailedPrecondition: servers of different
// partitionings, a partition missing or named twice, servers of different partitions joined, or another partition key
// than asked for; Unavailable: nobody answers for a partition. In standalone mode nobody is asked (standalone.h).
Result<Session> Connect(const SessionOptions& options);

}  // namespace espalier::client
