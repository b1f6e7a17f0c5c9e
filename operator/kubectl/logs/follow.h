// Several logs as they are written, line by line as they come, and the logs of pods that come later too.
#pragma once

#include <functional>
#include <set>
#include <vector>

#include "operator/kubectl/logs/merge.h"
#include "services/base/mutex.h"

namespace espalier::ctl::logs {

// What became of a container whose log has ended or broken off.
enum class ContainerLife { kGoesOn, kEnded, kGone };

// Where pods are looked for; called by several threads.
struct PodFinder {
  struct Found {
    std::vector<LogSource> sources;  // whose containers have begun, all of them each time
    bool no_more = false;            // others will not come
  };
  std::function<Result<Found>()> find;
  std::function<Result<ContainerLife>(const LogSource&)> look;
};

struct FollowOptions {
  LogOptions log;
  size_t max_logs = 64;  // followed at once, by a thread each
  std::chrono::nanoseconds between_looks = std::chrono::seconds(2);
  std::chrono::nanoseconds between_tries = std::chrono::seconds(1);
  // A log that has been silent for so long may be that of a container that is no more: a node that dies leaves its
  // streams open.
  std::chrono::nanoseconds longest_silence = std::chrono::seconds(60);
  int max_tries = 30;  // in a row, of a log that cannot be read or of the API server that does not answer
};

// Until no log is left and none will come (ok), `stop` (Cancelled), or printing fails. `printer` is called by one
// thread at a time. ResourceExhausted: more logs than max_logs. A log that has been read to its container's end is not
// opened again.
Status Follow(client::HttpTransport& transport, const PodFinder& finder, const FollowOptions& options,
              const LogPrinter& printer, const std::stop_token& stop);

}  // namespace espalier::ctl::logs
