// Why peers were refused, in the log: ten lines at once and then one a second, which says how many were left out.
#pragma once

#include <string>

#include "services/base/status.h"

namespace espalier::rpc {

// `event` is a constant, as of telemetry::Log; `subject` is the method or address it is about, or empty. Thread-safe.
void LogRefusal(const char* event, const std::string& subject, const Status& why);

// gRPC's own errors (failed handshakes first of all) become lines of the log instead of its own kind of lines on
// standard error. Call it before connections are made; later calls cost nothing. Thread-safe.
void SendHandshakeErrorsToLog();

}  // namespace espalier::rpc
