// Copies partitions and the user's folders to the hosts of a job without shared storage. Each host gets only the
// partitions that it serves.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/runner/launch/file_sender.h"
#include "services/runner/launch/host_session.h"
#include "services/terminal/progress.h"

namespace espalier::launch {

// The destination of a copy, with the objects that it needs.
struct CopyTarget {
  std::vector<HostSession*> hosts;
  std::string workspace;  // absolute, on each host
  const telemetry::StopSignal& stop;
  Heartbeat& heartbeat;  // pings these hosts
  terminal::Progress& progress;
};

// Returns the index of the host that runs a replica of a partition's server. Replicas of one partition are on different
// hosts if there are enough hosts.
inline size_t FindServerHost(uint32_t partition, uint32_t replica, size_t hosts) {
  return (size_t{partition} + replica) % hosts;
}

// Copies the partitioning in `folder` (with manifest.json) to WORKSPACE/partitions/KEY. Each host with servers gets the
// partitions that they serve, then the manifest. `replicas` >= 1 is the number of replicas of each partition. Returns
// the path on the hosts. Errors: those of the partitioning, of the hosts and of the heartbeat; Cancelled if a stop is
// requested.
Result<std::string> CopyPartitions(const std::string& folder, uint32_t replicas, const CopyTarget& to);

// Copies every file below `folder` to WORKSPACE/NAME on each host, where NAME is the name of the folder. Symbolic links
// to files are copied as files. InvalidArgument if `folder` is not a folder, or contains a link to a folder, a file
// name that is not UTF-8, or more than 100000 files; other errors as in CopyPartitions.
Status CopyFolder(const std::string& folder, const CopyTarget& to);

}  // namespace espalier::launch
