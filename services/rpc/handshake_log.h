// Rate-limited log lines for refused peers and for errors of gRPC: of each kind, a burst of ten lines, then one per
// second. Each line has the number of lines of its kind that were omitted before it.
#pragma once

#include <string>

#include "services/base/status.h"

namespace espalier::rpc {

// Logs a warning. `event` is a constant text, as for telemetry::Log; `subject` is the method, the server's address or
// the port that is concerned, or empty. Thread-safe.
void LogRefusal(const char* event, const std::string& subject, const Status& reason);

// Redirects the errors that gRPC logs, mainly failed handshakes, from standard error to the log. Must be called
// before the first connection; later calls have no effect. Thread-safe.
void SendHandshakeErrorsToLog();

}  // namespace espalier::rpc
