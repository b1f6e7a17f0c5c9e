// Prints several logs merged by time, up to their current ends.
#pragma once

#include <functional>
#include <vector>

#include "operator/kubectl/logs/pod_log.h"

namespace espalier::ctl::logs {

struct LogPrinter {
  // Prints one line. An error ends the whole operation.
  std::function<Status(const LogSource&, const LogLine&)> line;
  // Reports an error of one log. The rest of that log is skipped.
  std::function<void(const LogSource&, const Status&)> problem;
};

// Prints the logs. The first line of each log is read by its own thread. Lines of one log keep their order even if its
// node's clock was set back. Memory: one line per log, and the bytes that the transport reads ahead. Returns an error
// of `printer.line`, Cancelled, or, if no log could be read at all, the error of the first one.
Status PrintMerged(client::HttpTransport& transport, const std::vector<LogSource>& sources, const LogOptions& options,
                   const LogPrinter& printer, const std::stop_token& stop);

}  // namespace espalier::ctl::logs
