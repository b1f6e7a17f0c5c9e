// What each host of a job without shared storage gets: the partitions that it serves and the user's folders.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/runner/launch/file_sender.h"
#include "services/runner/launch/host_session.h"
#include "services/terminal/progress.h"

namespace espalier::launch {

// Where a copy goes.
struct CopyTarget {
  std::vector<HostSession*> hosts;
  std::string workspace;  // absolute, on each host
  const telemetry::StopSignal& stop;
  Heartbeat& heartbeat;  // of these hosts
  terminal::Progress& progress;
};

// The host of `hosts` that serves a partition, or a replica of it: replicas are on hosts of their own where there are
// as many.
inline size_t HostOfServer(uint32_t partition, uint32_t replica, size_t hosts) {
  return (size_t{partition} + replica) % hosts;
}

// Copies the partitioning in `folder` (with manifest.json) to WORKSPACE/partitions/KEY on each host: the partitions
// that it serves where each has `replicas` servers, more than 0, and the manifest last.
// That path. Errors name what is wrong with the partitioning, or the host; Cancelled; the heartbeat's.
Result<std::string> CopyPartitions(const std::string& folder, uint32_t replicas, const CopyTarget& to);

// Copies every file below `folder` to WORKSPACE/NAME on each host, NAME being the folder's own. Links to files are
// copied as files, those to folders are refused: nobody knows where they lead on the host. So are names that are not
// UTF-8. Errors likewise.
Status CopyFolder(const std::string& folder, const CopyTarget& to);

}  // namespace espalier::launch
