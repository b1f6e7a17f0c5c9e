// Rate-limited log lines for refused peers: a burst of ten lines, then one per second, with the number of omitted
// lines.
#pragma once

#include <string>

#include "services/base/status.h"

namespace espalier::rpc {

// Logs a warning. `event` is a constant, as for telemetry::Log; `subject` is the method or address, or empty.
// Thread-safe.
void LogRefusal(const char* event, const std::string& subject, const Status& why);

// Redirects the errors that gRPC logs, mainly failed handshakes, from standard error to the log. To be called before
// the first connection; later calls have no effect. Thread-safe.
void SendHandshakeErrorsToLog();

}  // namespace espalier::rpc
