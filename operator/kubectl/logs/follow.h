// Follows several logs and prints their lines as they arrive, including the logs of pods that start later.
#pragma once

#include <functional>
#include <set>
#include <vector>

#include "operator/kubectl/logs/merge.h"
#include "services/base/mutex.h"

namespace espalier::ctl::logs {

// The state of a container whose log has ended, broken off or been silent for longest_silence.
enum class ContainerLife {
  kActive,  // it runs, or the kubelet starts it again
  kEnded,   // it has ended for good; its log can still be read
  kGone,    // its pod was deleted
};

// Callbacks that find pods. `find` is called by the thread of Follow, `check` by the threads of the logs.
struct PodFinder {
  struct Found {
    std::vector<LogSource> sources;  // all containers that have started, also those of earlier calls
    bool no_more = false;            // no other pods will be created
  };
  std::function<Result<Found>()> find;
  std::function<Result<ContainerLife>(const LogSource&)> check;  // reads the state of the container
};

struct FollowOptions {
  LogOptions log;
  size_t max_logs = 64;                                               // followed at the same time, one thread each
  std::chrono::nanoseconds probe_interval = std::chrono::seconds(2);  // between two calls of PodFinder::find
  std::chrono::nanoseconds between_tries = std::chrono::seconds(1);   // to read the same log
  // After this time without a line, the state of the container is checked, because the log stream of a dead node stays
  // open.
  std::chrono::nanoseconds longest_silence = std::chrono::seconds(60);
  // After this number of consecutive failures to read a log or the state of its container, the log is dropped. After
  // this number of consecutive failures of PodFinder::find, or one that cannot be retried, Follow returns the error.
  int max_tries = 30;
};

// Blocks until all logs have ended and no more pods will be created (OK), `stop` is requested (Cancelled), printing
// fails, or finding pods fails. `printer` is called by one thread at a time. Returns ResourceExhausted for more than
// max_logs logs at the same time, or if a thread cannot be started. A log that has been read up to its container's end
// is not opened again.
Status Follow(client::HttpTransport& transport, const PodFinder& finder, const FollowOptions& options,
              const LogPrinter& printer, const std::stop_token& stop);

}  // namespace espalier::ctl::logs
