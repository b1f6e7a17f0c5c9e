// Options of a session (session.h). This header does not include gRPC.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/rpc/channel_settings.h"
#include "services/storage/cache/local_cache_options.h"
#include "services/storage/store_settings.h"

namespace espalier::client {

// How immutable data of a partition is read.
enum class Access {
  kAuto,    // map the files if the server runs on this host under the same user, otherwise use RPC
  kRpc,     // always use RPC
  kMapped,  // map the files of all partitions; FailedPrecondition if that is not possible
};
const char* ToString(Access access);                  // "auto", "rpc", "mapped"
Result<Access> ParseAccess(const std::string& text);  // inverse of ToString; InvalidArgument: any other text

// Location of partitions that this process opens itself: standalone mode, without graph servers (standalone.h).
struct StandaloneOptions {
  std::string partitions_uri;     // URI of the folder with manifest.json; empty: use graph servers
  storage::StoreSettings stores;  // settings for an s3:// URI
  // Folder for local copies of files that cannot be mapped where they are stored. If cache.folder is empty, it must be
  // possible to map all files.
  storage::LocalCacheOptions cache;
};

struct SessionOptions {
  // One entry per partition, in any order: "host:port" of its server, or of several replicas joined by '|'. Immutable
  // data is read from any reachable replica, preferably one on this machine. Writable data (tensors, learnable rows) is
  // on the first replica only.
  std::vector<std::string> addresses;
  StandaloneOptions standalone;  // alternative to addresses
  std::string partition_key;     // expected partition key; empty: any, but all servers must hold the same
  // Name of the job, which selects its tensors and incarnation on servers that several jobs share; empty: the job
  // without a name.
  std::string job;
  // Incarnation of the job. Servers reject requests of an older incarnation than the newest one that they have seen.
  // Absent: the newest one that the servers have seen.
  std::optional<uint64_t> incarnation;
  Access access = Access::kAuto;
  std::chrono::milliseconds connect_timeout{60'000};  // until a server of every partition has responded
  // Connect queries partitions with several replicas in rounds of this duration, which must be positive, until one
  // replica of each has responded. Replicas that have not responded by then do not count as near this machine, and
  // their files are not mapped.
  std::chrono::milliseconds replicas_timeout{2'000};
  size_t reply_bytes_per_call = rpc::kPreferredReplyBytes;  // larger responses are split into several calls
  size_t calls_in_flight = 4;                               // concurrent calls per query and server, at least 1
  std::string machine;           // name of this machine, in the form that servers report; empty: rpc::ThisMachine()
  rpc::ChannelSettings channel;  // channel.stop ends Connect, and every later query, with CANCELLED
};

}  // namespace espalier::client
