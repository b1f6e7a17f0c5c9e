// Reads the log of one container line by line and reconnects when the connection breaks.
#pragma once

#include <memory>
#include <stop_token>

#include "operator/client/transport.h"
#include "operator/kubectl/logs/log_position.h"
#include "operator/kubectl/logs/log_request.h"

namespace espalier::ctl::logs {

struct LogSource {
  kube::ObjectKey pod;
  std::string container;
  std::string label;  // "trainer-0": printed before its lines
  std::string uid;    // the pod's: a new pod of the same name has another log
};

// The log of one container. However long the log is, only one line and the bytes that the transport reads ahead are in
// memory. Used by one thread.
class PodLog {
 public:
  // `options.container` is replaced by the source's. `transport` must outlive this object.
  PodLog(client::HttpTransport& transport, LogSource source, LogOptions options);

  const LogSource& source() const { return source_; }

  // Returns the next line, or nullopt when the log has ended; a later call returns lines that were written since. If
  // the connection breaks, it is opened again at once; after three failed attempts to read the line, the error is
  // returned (Unavailable or FailedPrecondition). Returns NotFound if there is no such pod; InvalidArgument if the
  // container has no log (yet); DeadlineExceeded if no line arrived by the deadline; Cancelled; ResourceExhausted if a
  // line exceeds the transport's limit.
  Result<std::optional<LogLine>> Next(Deadline deadline, const std::stop_token& stop);

  // Stops following: at the end of the log, later calls of Next return nullopt instead of waiting for more lines.
  void StopFollowing();

 private:
  Status Open(Deadline deadline, const std::stop_token& stop);
  Result<std::optional<LogLine>> ReadFromStream(Deadline deadline, const std::stop_token& stop);
  Result<std::optional<LogLine>> ReadUnterminatedLine(Deadline deadline, const std::stop_token& stop);

  client::HttpTransport& transport_;  // outlives this
  const LogSource source_;
  LogOptions options_;
  LogPosition position_;
  std::shared_ptr<client::LineStream> lines_;  // null: not open
  bool has_ended_ = false;                     // the next call of Next returns nullopt
};

}  // namespace espalier::ctl::logs
