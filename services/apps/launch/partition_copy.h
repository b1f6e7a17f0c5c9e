// What each host of a job without shared storage gets: its partitions and the user's folders. Host h of H gets the
// partitions p with p mod H = h, as host_fleet.h serves them.
#pragma once

#include <string>
#include <vector>

#include "services/apps/launch/file_sender.h"
#include "services/apps/launch/host_session.h"
#include "services/apps/terminal/progress.h"

namespace espalier::launch {

// Where a copy goes.
struct CopyTarget {
  std::vector<HostSession*> hosts;
  std::string workspace;  // absolute, on each host
  const telemetry::StopSignal& stop;
  Heartbeat& heartbeat;  // of these hosts
  terminal::Progress& progress;
};

// Copies the partitioning in `folder` (with manifest.json) to WORKSPACE/partitions/KEY on each host, the manifest last.
// That path. Errors name what is wrong with the partitioning, or the host; Cancelled; the heartbeat's.
Result<std::string> CopyPartitions(const std::string& folder, const CopyTarget& to);

// Copies every file below `folder` to WORKSPACE/NAME on each host, NAME being the folder's own. Links to files are
// copied as files, those to folders are refused: nobody knows where they lead on the host. So are names that are not
// UTF-8. Errors likewise.
Status CopyFolder(const std::string& folder, const CopyTarget& to);

}  // namespace espalier::launch
