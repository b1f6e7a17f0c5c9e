// Several logs as one, in the order of time, of what there is by now.
#pragma once

#include <functional>
#include <vector>

#include "operator/kubectl/logs/pod_log.h"

namespace espalier::ctl::logs {

struct LogPrinter {
  // One line; an error ends everything.
  std::function<Status(const LogSource&, const LogLine&)> line;
  // What is wrong with one log, which is left out from then on.
  std::function<void(const LogSource&, const Status&)> problem;
};

// The first line of all logs is read by a thread each. Lines of one pod keep their order even where its clock was set
// back. One line of each log is in memory, and what the transport reads ahead. The errors of `printer.line`, and
// Cancelled; where no log could be read at all, the first one's problem.
Status PrintMerged(client::HttpTransport& transport, const std::vector<LogSource>& sources, const LogOptions& options,
                   const LogPrinter& printer, const std::stop_token& stop);

}  // namespace espalier::ctl::logs
